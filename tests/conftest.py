"""Settings that every test shares."""

import os

from hypothesis import settings

# No deadline: a machine under load is not a failed property.
settings.register_profile("desk", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
