"""The mix of a customer's trace over that of the study: one panel for each quantity."""

import altair as alt

from headway.analyses.trace_mix import LEAST_DRAWN, Compared, Quantity, Side, TraceMix
from headway.figures import text, theme

TITLES = {
    Quantity.PROMPT: "prompt tokens (log scale)",
    Quantity.OUTPUT: "output tokens (log scale)",
    Quantity.GAP: "time between arrivals ÷ its mean (log scale)",
}
_FORMATS = {Quantity.PROMPT: ",~r", Quantity.OUTPUT: ",~r", Quantity.GAP: "~g"}
_HEIGHT = 320


def quantities(mix: TraceMix) -> list[Quantity]:
    """Return what has a panel: every quantity that the study or the trace knows."""
    return [each.quantity for each in mix.compared if each.study or each.trace]


def panel(mix: TraceMix, quantity: Quantity, look: theme.Look) -> alt.Chart:
    """Draw the share of requests at most x, study against trace; every point is drawn."""
    drawn: alt.Chart = (
        alt.Chart(mix.points_of(quantity))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "drawn:Q",
                title=TITLES[quantity],
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=_FORMATS[quantity], labelOverlap=True, tickCount=6),
            ),
            y=alt.Y(
                "share:Q",
                title="share of requests at most",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            ),
            order="n_at_most:Q",
            tooltip=_tooltip(quantity),
            **_sides(look),
        )
    )
    return drawn.properties(height=_HEIGHT)


def _sides(look: theme.Look) -> dict[str, alt.Color | alt.StrokeDash]:
    """Return colour and dash, which both tell the sides apart."""
    names = [side.value for side in Side]
    dashes = [list(dash) for dash in theme.DASHES[: len(names)]]
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=500)
    colours = alt.Scale(domain=names, range=list(look.palette[: len(names)]))
    return {
        "color": alt.Color("side:N", scale=colours, legend=legend),
        "strokeDash": alt.StrokeDash(
            "side:N", scale=alt.Scale(domain=names, range=dashes), legend=legend
        ),
    }


def _tooltip(quantity: Quantity) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("side:N", title="traffic"),
        alt.Tooltip("value:Q", title=TITLES[quantity].split(" (")[0], format=",.3~f"),
        alt.Tooltip("share:Q", title="share of requests at most", format=".2%"),
        alt.Tooltip("n_at_most:Q", title="requests at most", format=","),
        alt.Tooltip("n:Q", title="counted", format=","),
    ]


def sentence(mix: TraceMix) -> str:
    """Return what the two mixes say about each other."""
    said = [
        _tokens("prompt", mix.of(Quantity.PROMPT)),
        _tokens("output", mix.of(Quantity.OUTPUT)),
        _arrivals(mix.of(Quantity.GAP)),
    ]
    if mix.beyond is not None:
        said.append(f"{text.share(mix.beyond)} of its prompts are longer than any in the study")
    if mix.blocks_seen is not None:
        said.append(f"{text.share(mix.blocks_seen)} of its prompt blocks repeat an earlier prefix")
    return f"Of the trace's {mix.n_requests:,} requests ({mix.shape}), {'; '.join(said)}."


def _tokens(name: str, compared: Compared) -> str:
    trace, study = compared.trace, compared.study
    if trace is None:
        return f"the {name} lengths are {text.NOT_RECORDED}"
    middle, high = f"the median {name} is {trace.median:,.0f} tokens", f"p90 {trace.p90:,.0f}"
    varied = f"spread {_spread(trace.spread)}"
    if study is None:
        return f"{middle} ({high}, {varied}), the study's {text.NOT_RECORDED}"
    return (
        f"{middle}, the study's {study.median:,.0f} ({high} against {study.p90:,.0f}, "
        f"{varied} against {_spread(study.spread)})"
    )


def _arrivals(compared: Compared) -> str:
    trace, study = compared.trace, compared.study
    if trace is None:
        return "its arrivals are not recorded or at one instant"
    against = text.NOT_RECORDED if study is None else _spread(study.spread)
    coarse = " (most of them are 0: its clock is coarse)" if not trace.median else ""
    return (
        f"the spread of its times between arrivals is {_spread(trace.spread)}{coarse}, "
        f"the study's {against}"
    )


def _spread(value: float | None) -> str:
    return text.NOT_RECORDED if value is None else text.significant(value)


def caption(mix: TraceMix) -> str:
    """Return how the picture counts."""
    return (
        f"{mix.name}. Requests offered in the chosen runs, whatever became of them; output is the "
        "length asked for, else that of completed answers. Spread: standard deviation ÷ mean, "
        "1 for times between Poisson arrivals. Times between arrivals are ÷ the mean of their own "
        f"run, and not of closed loops. Values below {LEAST_DRAWN:g} are drawn there."
    )
