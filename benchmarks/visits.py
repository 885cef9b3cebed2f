"""What a page costs the server: CPU time of the script, above nothing, in a process of its own.

    python benchmarks/pages.py LIBRARY

prints one JSON object: CPU seconds by step, and the most memory that the process had.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from headway.serving import PATHS_VARIABLE
from headway.web import warm_up

MAIN = Path(warm_up.__file__).parent / "entry" / "main.py"
# The figure is that of the last of several changes: the first also measures what is new to it.
_CHANGES = 4


class Steps:
    """CPU time by step."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    def measure(self, name: str, work: Callable[[], object]) -> None:
        """Note the CPU time of a piece of work, all threads together."""
        start = time.process_time()
        work()
        self.taken[name] = time.process_time() - start

    def change(self, name: str, app: AppTest, key: str, values: list[float]) -> None:
        """Move a number again and again, and note the least CPU time of the later changes."""
        taken = []
        for value in values[:_CHANGES]:
            start = time.process_time()
            app.number_input(key=key).set_value(value).run()
            taken.append(time.process_time() - start)
            _demand_sound(app)
        self.taken[f"{name}, first"], self.taken[name] = taken[0], min(taken[1:])


def opened(page: str) -> AppTest:
    """Return a page that was not run yet."""
    app = AppTest.from_file(str(MAIN), default_timeout=600)
    return app if page == "home" else app.switch_page(f"../pages/{page}.py")


def main(library: str) -> None:
    """Measure the steps of a reader who visits each page."""
    logging.disable(logging.WARNING)
    os.environ[PATHS_VARIABLE] = library
    steps = Steps()
    steps.measure("warm-up", warm_up.first_views)
    opened("import").run()  # what Streamlit itself imports for a first page
    home = opened("home")
    steps.measure("home", home.run)
    _demand_sound(home)
    envelope = opened("envelope")
    steps.measure("envelope", envelope.run)
    steps.change("envelope, limit", envelope, "ttft", [200.0, 210.0, 220.0, 230.0])
    steps.change("envelope, share", envelope, "share", [70.0, 71.0, 72.0, 73.0])
    compare = opened("compare")
    steps.measure("compare", compare.run)
    steps.change("compare, limit", compare, "ttft", [200.0, 210.0, 220.0, 230.0])
    shown = opened("distributions")
    shown.query_params["policy"] = ["alpha", "beta"]
    shown.query_params["load"] = [f"{load} req/s" for load in range(1, 11)]
    steps.measure("distributions, all runs", shown.run)
    _demand_sound(shown)
    steps.change("distributions, window of all runs", shown, "from_s", [1.0, 2.0, 3.0, 4.0])
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak_kb = next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)
    json.dump({"cpu_s": steps.taken, "peak_mb": peak_kb / 1024}, sys.stdout)


def _demand_sound(app: AppTest) -> None:
    if app.exception or app.error:
        raise RuntimeError(f"{app.exception} {[each.value for each in app.error]}")


if __name__ == "__main__":
    main(sys.argv[1])
