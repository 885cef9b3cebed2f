"""Up to which load is a configuration acceptable, and what does that hold for?

An envelope is a bracket of tested loads: the last accepted one, the first rejected one, and the
unsure band between them. It holds for one configuration, one set of requests and one arrival
process; when any of them changes it lapses and another envelope begins.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from headway.analyses import configurations, workload
from headway.analyses.acceptance import Asked, Judged
from headway.catalog import Catalog
from headway.model import LoadKind
from headway.stats import envelope
from headway.stats.envelope import Bracket
from headway.stats.verdicts import Verdict

OFFERED, CONCURRENCY = "offered_rps", "concurrency"


@dataclass(frozen=True, slots=True)
class Envelope:
    """The verdicts of one configuration over load.

    `line` is its name, no other's among those found together. `judged` are its runs in order of
    load, those off the axis last. `holds_for` names the configuration, `requests` is the
    fingerprint of the requests without their arrivals.
    """

    line: str
    judged: tuple[Judged, ...]
    axis: str
    arrivals: str | None
    requests: str
    holds_for: dict[str, str]
    bracket: Bracket
    verdicts: dict[float, Verdict]

    @property
    def has_accepted(self) -> bool:
        """Whether any tested load is accepted, with no rejected load below it."""
        return self.bracket.last_accepted is not None or any(
            self.off_axis_verdict(each) is Verdict.ACCEPTED for each in self.judged
        )

    @property
    def n_recorded(self) -> int:
        """How many fields of the manifest the source states, of `Manifest.size()`."""
        return self.judged[0].run.manifest.recorded()

    def off_axis_verdict(self, judged: Judged) -> Verdict | None:
        """Return the verdict of a run that stands off the axis, kept under an infinite load."""
        return self.verdicts.get(float("inf")) if judged.x is None else None

    def at(self, load: float | None) -> list[Judged]:
        """Return what was judged at a load."""
        return [each for each in self.judged if load is not None and each.x == load]


def envelopes(catalog: Catalog, judged: Sequence[Judged], asked: Asked) -> list[Envelope]:
    """Return one envelope per configuration, workload, arrival process and axis."""
    planned = workload.fingerprints(catalog, [each.run.run_id for each in judged])
    groups: dict[Hashable, list[Judged]] = {}
    for each in judged:
        requests = planned[each.run.run_id].requests
        groups.setdefault((requests, _key(each)), []).append(each)
    found = [
        _envelope(group, planned[group[0].run.run_id].requests, asked) for group in groups.values()
    ]
    return _told_apart(found)


def _told_apart(found: Sequence[Envelope]) -> list[Envelope]:
    """Return the envelopes with different names: what parts those of one line is added to it."""
    names = [each.line for each in found]
    for detail in (_axis_detail, _arrivals_detail, _configuration_detail, _requests_detail):
        for name in {name for name in names if names.count(name) > 1}:
            places = [place for place, known in enumerate(names) if known == name]
            mine = [found[place] for place in places]
            for place in places:
                names[place] = " · ".join(filter(None, (name, detail(found[place], mine))))
    return [replace(each, line=name) for each, name in zip(found, names, strict=True)]


def _axis_detail(each: Envelope, mine: Sequence[Envelope]) -> str | None:
    is_closed = each.axis == CONCURRENCY
    return "closed loop" if is_closed and any(other.axis != each.axis for other in mine) else None


def _arrivals_detail(each: Envelope, mine: Sequence[Envelope]) -> str | None:
    return each.arrivals if any(other.arrivals != each.arrivals for other in mine) else None


def _configuration_detail(each: Envelope, mine: Sequence[Envelope]) -> str | None:
    """Return the fields of the configuration that part an envelope from the others, with values."""
    said = [
        f"{name} {each.holds_for.get(name, 'not recorded')}"
        for name in dict.fromkeys(name for other in mine for name in other.holds_for)
        if any(other.holds_for.get(name) != each.holds_for.get(name) for other in mine)
    ]
    return ", ".join(said) or None


def _requests_detail(each: Envelope, _: Sequence[Envelope]) -> str | None:
    cap = each.judged[0].load.concurrency if each.axis == OFFERED else None
    capped = f", {cap} concurrent at most" if cap else ""
    return f"requests {each.requests[:8]}{capped}"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of several runs at one load: any rejection rejects, any doubt stays."""
    for verdict in (Verdict.REJECTED, Verdict.UNDECIDED):
        if verdict in verdicts:
            return verdict
    return Verdict.ACCEPTED if verdicts else Verdict.UNDECIDED


def differences(found: Sequence[Envelope]) -> dict[str, tuple[str, ...]]:
    """Return the fields in which envelopes of one policy differ, by policy: why one lapses.

    Policies with one envelope are left out.
    """
    by_policy: dict[str, list[Envelope]] = {}
    for each in found:
        by_policy.setdefault(each.holds_for.get("policy", each.line), []).append(each)
    changed = {}
    for policy, mine in by_policy.items():
        described = [
            each.holds_for | {"requests": each.requests, "arrivals": str(each.arrivals)}
            for each in mine
        ]
        names = dict.fromkeys(name for each in described for name in each)
        fields = [n for n in names if len({each.get(n) for each in described}) > 1]
        if len(mine) > 1:
            changed[policy] = tuple(fields)
    return changed


def _key(judged: Judged) -> Hashable:
    run = judged.run
    load = run.load
    return (
        judged.line,
        configurations.fields_of(run),
        load.kind is LoadKind.CLOSED,
        load.arrivals,
        load.burstiness,
        load.concurrency if load.kind is LoadKind.OPEN else None,
    )


def _envelope(group: Sequence[Judged], requests: str, asked: Asked) -> Envelope:
    ordered = sorted(group, key=lambda each: (each.x is None, each.x or 0.0))
    first = ordered[0].run
    by_load: dict[float, list[Judged]] = {}
    for each in ordered:
        by_load.setdefault(float("inf") if each.x is None else each.x, []).append(each)
    verdicts = {
        load: worst([each.verdict(asked) for each in mine]) for load, mine in by_load.items()
    }
    points = [
        envelope.Point(load, verdicts[load], min(each.attained.low for each in mine))
        for load, mine in by_load.items()
        if load != float("inf")
    ]
    return Envelope(
        line=ordered[0].line,
        judged=tuple(ordered),
        axis=CONCURRENCY if first.load.kind is LoadKind.CLOSED else OFFERED,
        arrivals=_arrivals(ordered[0]),
        requests=requests,
        holds_for=dict(configurations.fields_of(first)),
        bracket=envelope.bracket(points),
        verdicts=verdicts,
    )


def _arrivals(judged: Judged) -> str | None:
    load = judged.load
    if load.arrivals is None or load.burstiness in (None, 1.0):
        return load.arrivals
    return f"{load.arrivals}, burstiness {load.burstiness:g}"
