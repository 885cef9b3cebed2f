"""Pieces that more than one page shows."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from headway.analyses.accounting import Account, Reason
from headway.analyses.distribution import Description, Percentile
from headway.figures import text, theme, vega
from headway.figures.distribution import Figure
from headway.model import OUTCOME_MEANING, Finding, Outcome, Severity, Status
from headway.web import state

_ICONS = {
    Severity.INFO: ":material/info:",
    Severity.WARNING: ":material/warning:",
    Severity.ERROR: ":material/error:",
}


def table(rows: pl.DataFrame, **options: Any) -> None:
    """Show a table of words, of which Streamlit reads every cell as Markdown.

    A cell that begins with > would become a quotation and lose the sign, so that ">99.9%" would
    read as 99.9%.
    """
    texts = pl.col(pl.String)
    guarded = pl.when(texts.str.starts_with(">")).then("\\" + texts).otherwise(texts)
    st.table(
        rows.with_columns(guarded.name.keep()), hide_index=True, border="horizontal", **options
    )


def chart(
    key: str,
    depends: tuple[Hashable, ...],
    draw: Callable[[theme.Look], Figure],
    alt: str,
) -> None:
    """Show an Altair chart, drawn once for the data that it depends on and the reader's mode.

    Drawing and checking a chart takes longer than the numbers in it.
    """
    st.vega_lite_chart(spec=_drawn(key, depends, draw), key=key, alt=alt)


def chart_to_choose_from(
    key: str,
    depends: tuple[Hashable, ...],
    draw: Callable[[theme.Look], Figure],
    alt: str,
    selection: str,
) -> list[dict[str, Any]]:
    """Show a chart like `chart`; return the fields of the marks that the reader has clicked."""
    event = st.vega_lite_chart(
        spec=_drawn(key, depends, draw),
        key=key,
        alt=alt,
        on_select="rerun",
        selection_mode=selection,
    )
    chosen: list[dict[str, Any]] = event.selection.get(selection, [])
    return chosen


def _drawn(
    key: str, depends: tuple[Hashable, ...], draw: Callable[[theme.Look], Figure]
) -> dict[str, Any]:
    look = state.look()
    found = state.catalog().remember(
        ("drawing", key, look, *depends), lambda: vega.drawing(draw(look))
    )
    return found.specification()


def accounting(account: Account) -> None:
    """Show that the offered requests are the sum of their outcomes, or say that they are not."""
    shown = [outcome for outcome in Outcome if account.outcomes[outcome]]
    rows = [("**offered**", f"**{text.count(account.n_offered)}**")]
    rows += [(text.outcome(each), text.count(account.outcomes[each])) for each in shown]
    table(
        pl.DataFrame(rows, schema=["outcome", "requests"], orient="row"),
        hide_header=True,
        alt="Offered requests by outcome",
    )
    if account.balanced:
        st.caption(f"✓ offered = the sum of {len(shown)} outcome{'s' * (len(shown) != 1)}")
    else:
        st.error("✗ the rows do not add up to the requests offered")
    if account.n_inferred:
        inferred = text.count(account.n_inferred)
        one = account.n_inferred == 1
        said = "outcome is" if one else "outcomes are"
        it = "it" if one else "them"
        st.caption(f"{inferred} {said} inferred: the source does not state {it}")
    with st.popover("What the outcomes mean"):
        for outcome in Outcome:
            st.markdown(f"**{text.outcome(outcome)}** {OUTCOME_MEANING[outcome]}")


def everything_failed(account: Account, reasons: Iterable[Reason]) -> None:
    """Show, large, why nothing completed; nothing at all where something did."""
    if account.outcomes[Outcome.COMPLETED] or not account.n_offered:
        return
    st.error(f"### None of the {text.count(account.n_offered)} offered requests completed")
    st.markdown(
        "\n".join(
            f"- **{text.count(each.n)} {text.outcome(each.outcome)}**: "
            f"{state.escape(each.reason or 'no reason recorded')}"
            for each in reasons
        )
    )


def findings(found: Sequence[Finding]) -> None:
    """Show what the importer noticed, the gravest first."""
    if not found:
        st.caption("The importer noticed nothing unusual.")
    order = (Severity.ERROR, Severity.WARNING, Severity.INFO)
    for finding in sorted(found, key=lambda each: order.index(each.severity)):
        st.markdown(f"{_ICONS[finding.severity]} {state.escape(finding.message)}")


def percentile_table(described: Sequence[Description], titles: Mapping[str, str]) -> pl.DataFrame:
    """Return a table of percentiles in words, one row per run and stratum."""
    return pl.DataFrame(
        [_percentile_row(each, titles) for each in described], infer_schema_length=None
    )


def _percentile_row(each: Description, titles: Mapping[str, str]) -> dict[str, str]:
    row = {"run": state.escape(titles[each.run_id])}
    if each.stratum != "all":
        row["class"] = state.escape(each.stratum)
    row |= {text.percentile(point.share): _value(point, each) for point in each.percentiles}
    row["max"] = "–" if each.max_ms is None else text.duration(each.max_ms)
    row["delivered"] = _delivered(each)
    return row


def _value(point: Percentile, each: Description) -> str:
    if point.not_reached:
        said = f"not reached ({text.share(each.delivered)} delivered)"
    else:
        said = text.percentile_value(point, each)
    return said if each.n_eff is None else f"{said}  \n:gray[{_bounds(point)}]"


def _bounds(point: Percentile) -> str:
    """Return the bounds for traffic like this; a bound that does not exist is open."""
    low = "…" if point.low_ms is None else text.duration(point.low_ms)
    high = "…" if point.high_ms is None else text.duration(point.high_ms)
    return f"{low} to {high}"


def _delivered(each: Description) -> str:
    if each.status is not Status.MEASURED:
        return text.STATUS_WORDS[each.status]
    skipped = f", {each.n_not_applicable:,} not applicable" if each.n_not_applicable else ""
    unknown = f", {each.n_unknown:,} not recorded" if each.n_unknown else ""
    return f"{each.n:,} of {each.denominator:,}{skipped}{unknown}"
