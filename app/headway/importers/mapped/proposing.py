"""A mapping proposed from names, units and values: every line with its reason, the rest asked."""

from pathlib import Path

from headway.importers.mapped import event_words, places, saved, tables, totals
from headway.importers.mapped.draft import Draft
from headway.importers.mapped.mapping import Format, Layout
from headway.importers.mapped.proposal import Confidence, Line, Proposal
from headway.importers.source import Source
from headway.importers.survival import survived


def propose(path: Path, library: Path | None = None) -> Proposal:
    """Propose a mapping for a table, from its first rows.

    Parameters
    ----------
    path
        The file.
    library
        Library whose saved mappings come first; None looks at the built-in ones only.

    Raises
    ------
    ImportRefusedError
        The file cannot be read as a table, or holds totals (`aggregate_only`).
    """
    with survived(path.name):
        return _proposal(Source.open(path), path, library)


def _proposal(source: Source, path: Path, library: Path | None) -> Proposal:
    for each in saved.fitting(path, library):
        shown = ", ".join(saved.shape(each.mapping)[:6])
        reason = f"the file has the columns of the mapping {each.name} ({shown}, …)"
        line = Line("mapping", tuple(saved.shape(each.mapping)), reason, Confidence.CERTAIN)
        return Proposal(each.mapping, (line,), each.mapping.missing(), each.name)
    form, why = format_of(source)
    if form.layout is not Layout.ARRAYS and totals.are_named(tables.columns(source, form)):
        raise totals.refusal(source)
    draft = Draft(source, form)
    events = event_words.layout(draft.rows, form, draft.profiles)
    if events is not None:
        return event_words.propose(draft.name, draft.rows, events, draft.profiles)
    return draft.proposal(why)


def format_of(source: Source) -> tuple[Format, str]:
    """Return where and how the requests of a file stand, and why it seems so.

    Raises
    ------
    ImportRefusedError
        The file cannot be read as a table.
    """
    kind = tables.form_of(source.path)
    if kind is tables.Form.JSON:
        return places.find(source)
    if kind in (tables.Form.DUCKDB, tables.Form.SQLITE):
        return places.find_table(source, tables.names(source))
    form = tables.with_format(source.path, Format())
    said = [f"delimiter {form.delimiter!r}"] if form.delimiter != "," else []
    said += ["decimal comma"] if form.decimal == "," else []
    said += [form.encoding] if form.encoding != "utf-8" else []
    return form, f"the file is {kind.value}" + (f" with {', '.join(said)}" if said else "")
