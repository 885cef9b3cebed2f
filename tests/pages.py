"""What the tests of pages share."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
MAIN = ROOT / "app" / "headway" / "web" / "entry" / "main.py"
SAMPLES = ROOT / "sample_data"
PAGES = ("home", "runs", "distributions", "envelope", "compare", "import", "methods")

Open = Callable[..., AppTest]


def words(app: AppTest) -> str:
    """Return everything the page says in words."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error")
    said = [element.value for kind in kinds for element in getattr(app, kind)]
    tables = [table.value.to_csv(index=False) for table in app.table]
    return "\n".join([*said, *tables]).replace("\\", "").replace("\u00a0", " ")


def unfold(app: AppTest, *sections: str) -> AppTest:
    """Open folded sections of the page, which are empty until then."""
    for name in sections:
        app.session_state[f"{name}-open"] = True
    return app.run()


def link(app: AppTest) -> dict[str, list[str]]:
    """Return the controls in the page's link to its view."""
    (address,) = [code.value for code in unfold(app, "link").code if "data=" in code.value]
    return parse_qs(urlsplit(address).query)
