"""Altair charts as what the browser is sent: a Vega-Lite specification and the tables in it."""

from dataclasses import dataclass
from threading import Lock
from typing import Any

import altair as alt
import orjson
import polars as pl

from headway.figures.distribution import Figure

# Altair's themes and data transformers are those of the whole process.
_one_at_a_time = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A finished chart: its specification as JSON, and the tables that it refers to by name."""

    text: bytes
    tables: dict[str, pl.DataFrame]

    def specification(self) -> dict[str, Any]:
        """Return the chart as Streamlit takes it."""
        said: dict[str, Any] = orjson.loads(self.text)
        return said | {"datasets": dict(self.tables)}


def drawing(chart: Figure) -> Drawing:
    """Return a chart in its final form.

    Colours and type are left to Streamlit. A table is kept once, however many layers show it. The
    chart is not checked against the Vega-Lite schema, which takes longer than all else; tests do.
    """
    tables: dict[str, pl.DataFrame] = {}

    def name(table: Any) -> dict[str, str]:
        known = next((name for name, each in tables.items() if each is table), None)
        found = known or f"table-{len(tables)}"
        tables[found] = table
        return {"name": found}

    with _one_at_a_time, alt.theme.enable("none"):
        alt.data_transformers.register("headway", name)
        with alt.data_transformers.enable("headway"):
            said = chart.to_dict(validate=False)
    return Drawing(orjson.dumps(said), tables)
