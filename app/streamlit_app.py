"""Entry for hosts that expect a script; the same app as `headway serve`."""

from headway.web import navigation

navigation.run()
