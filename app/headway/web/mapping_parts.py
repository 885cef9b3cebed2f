"""Say what the columns of a table mean, and see at once what its rows become."""

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st

from headway.errors import HeadwayError
from headway.importers import mapped
from headway.importers.mapped.mapping import RUN_TARGETS, Kind, Scalar, Unit
from headway.ingest import apart
from headway.model import Outcome
from headway.web import import_parts, parts, state
from headway.web.workspace import Batch, Workspace

_TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet")
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
_PACKED = (".gz", ".zst")
_OPEN = "not said"
_PROPOSED = "what the columns suggest"
_REFUSE = "refuse the table"
_MOST_COLUMNS = 60


@dataclass(slots=True)
class _Draft:
    """A mapping being edited: its text, and how often it was replaced, which renews the editors."""

    text: str
    reasons: list[dict[str, Any]]
    known: str | None
    version: int = 0

    def become(self, text: str) -> None:
        self.text, self.version = text, self.version + 1


def editor(here: Workspace, batch: Batch) -> None:
    """Offer to map the files of a batch that nothing claims and that look like tables."""
    names = _tables(batch)
    if not names:
        return
    imported = bool(batch.report and batch.report["imported"])
    with st.expander("A table of your own? Say what its columns mean", expanded=not imported):
        name = names[0]
        if len(names) > 1:
            name = st.selectbox("File", names, key=f"table-{batch.folder.name}")
        draft = _draft(here, batch.folder / name)
        if draft is not None:
            _edit(here, batch, name, draft)


def _tables(batch: Batch) -> list[str]:
    """Return the files that nothing claimed, by their names' ends those that can be tables."""
    if batch.report is None or batch.only is not None:
        return []
    foreign = {
        name
        for entry in batch.report["refused"]
        if entry["code"] == "foreign"
        for name in batch.names
        if entry["source"].endswith(name)
    }
    wanted = [
        name for name in batch.names if name in foreign or name in import_parts.passed_over(batch)
    ]
    return [name for name in wanted if _stem_end(name) in (*_TABLES, *_DATABASES)]


def _stem_end(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in _PACKED else path.suffix


def _draft(here: Workspace, path: Path) -> _Draft | None:
    """Return the mapping under way for a file, proposed in a process of its own at first."""
    drafts: dict[str, _Draft] = st.session_state.setdefault("drafts", {})
    key = str(path)
    if key not in drafts:
        with st.spinner(f"Reading the columns of {state.escape(path.name)} …"):
            said = apart.proposing(path, here.library, here.scratch()).wait()
        if said.result is None:
            st.error(state.escape(said.failure or ""))
            return None
        found = said.result
        drafts[key] = _Draft(found["mapping"], found["lines"], found["known"])
    return drafts[key]


def _edit(here: Workspace, batch: Batch, name: str, draft: _Draft) -> None:
    """Show questions, fields and outcomes to edit, then what the rows become."""
    try:
        mapping = mapped.loads(draft.text, Path(name).stem)
    except HeadwayError as error:
        st.error(state.escape(str(error)))
        _as_text(here, name, draft)
        return
    key = f"{batch.folder.name}-{name}-{draft.version}"
    if draft.known:
        st.success(f"Its columns are those of the mapping **{state.escape(draft.known)}**.")
    mapping = _answers(mapping, key)
    left, right = st.columns([3, 2], gap="large")
    with left:
        mapping = _fields(mapping, draft, key)
    with right:
        mapping = _outcomes(mapping, key)
        _reasons(draft)
    _preview(here, batch, name, mapping)
    _as_text(here, name, draft, mapping)


def _answers(mapping: mapped.Mapping, key: str) -> mapped.Mapping:
    """Ask what the table does not say; nothing is assumed in its place."""
    asked = mapping.missing()
    facts = [each for each in asked if not each.key.startswith("fields")]
    if not facts:
        return mapping
    st.markdown("**To be said, for the table does not**")
    columns = st.columns(3)
    stated: dict[str, Scalar] = {}
    for place, question in enumerate(facts):
        with columns[place % 3]:
            answer = _answer(question, f"{key}-{question.key}")
        if answer is not None:
            stated[question.key] = answer
    return mapping.answered(stated)


def _answer(question: mapped.Question, key: str) -> Scalar | None:
    label = f"{question.key.replace('.', ' ').replace('_', ' ').capitalize()}"
    if question.key == "offered":
        said = st.selectbox(
            label, [_OPEN, *question.choices, "a number"], key=key, help=question.text
        )
        if said == "a number":
            return st.number_input("Requests offered", min_value=1, step=1, key=f"{key}-number")
        return None if said == _OPEN else said
    if question.choices:
        said = st.selectbox(label, [_OPEN, *question.choices], key=key, help=question.text)
        return None if said == _OPEN else said
    return st.text_input(label, key=key, help=question.text, placeholder=_OPEN).strip() or None


def _fields(mapping: mapped.Mapping, draft: _Draft, key: str) -> mapped.Mapping:
    """Edit which column gives which field of the record, and in which unit."""
    st.markdown("**Fields**")
    rows = [
        {
            "field": field.target,
            "from": ", ".join(field.source),
            "unit": None if field.unit is None else field.unit.value,
            "kind": None if field.kind is None else field.kind.value,
            "constant": None if field.value is None else str(field.value),
        }
        for field in mapping.fields
    ]
    column = st.column_config
    edited = st.data_editor(
        pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String)),
        num_rows="dynamic",
        hide_index=True,
        key=f"{key}-fields",
        column_config={
            "field": column.SelectboxColumn("field", options=sorted(RUN_TARGETS), required=True),
            "from": column.TextColumn("from column", help=_known_columns(mapping, draft)),
            "unit": column.SelectboxColumn("unit", options=[each.value for each in Unit]),
            "kind": column.SelectboxColumn("is a", options=[each.value for each in Kind]),
            "constant": column.TextColumn("or constant"),
        },
    )
    st.caption(f"Columns of the table: {state.escape(_known_columns(mapping, draft))}")
    return replace(mapping, fields=_read(mapping, edited))


_COLUMNS = ("field", "from", "unit", "kind", "constant")


def _known_columns(mapping: mapped.Mapping, draft: _Draft) -> str:
    """Name the columns of the table: those that are used, and those the proposal speaks of."""
    spoken = (column for line in draft.reasons for column in line["columns"])
    names = tuple(dict.fromkeys((*mapping.made_for, *mapping.columns(), *spoken)))
    more = f" and {len(names) - _MOST_COLUMNS} more" if len(names) > _MOST_COLUMNS else ""
    return ", ".join(names[:_MOST_COLUMNS]) + more


def _read(mapping: mapped.Mapping, edited: Any) -> tuple[mapped.Field, ...]:
    """Return the fields as edited; what the table does not show of a field stays."""
    rows = edited.to_dicts() if isinstance(edited, pl.DataFrame) else edited.to_dict("records")
    found = {}
    for row in rows:
        target = row["field"]
        if not target:
            continue
        source = tuple(part.strip() for part in (row["from"] or "").split(",") if part.strip())
        before = mapping.field(target) or mapped.Field(target)
        found[target] = replace(
            before,
            source=source,
            unit=Unit(row["unit"]) if row["unit"] else None,
            kind=Kind(row["kind"]) if row["kind"] else None,
            value=_constant(before, source, row["constant"]),
        )
    return tuple(found.values())


def _constant(before: mapped.Field, source: tuple[str, ...], text: str | None) -> Scalar | None:
    """Return a constant as edited; one that was left alone keeps its type."""
    if source or not text:
        return None
    return before.value if text == str(before.value) else text


def _outcomes(mapping: mapped.Mapping, key: str) -> mapped.Mapping:
    """Edit what the values of the outcome's column mean."""
    field = mapping.field("outcome")
    st.markdown("**Outcomes**")
    if field is None or not field.source:
        return _constant_outcome(mapping, field, key)
    words = [outcome.value for outcome in Outcome]
    edited = st.data_editor(
        pl.DataFrame(
            [{"value": value, "outcome": meaning} for value, meaning in field.values],
            schema={"value": pl.String, "outcome": pl.String},
        ),
        num_rows="dynamic",
        hide_index=True,
        key=f"{key}-outcomes",
        column_config={
            "value": st.column_config.TextColumn(f"value of {field.source[0]}", required=True),
            "outcome": st.column_config.SelectboxColumn("is", options=words, required=True),
        },
    )
    choices = [_REFUSE, *words]
    other = st.selectbox(
        "Any other value",
        choices,
        index=choices.index(field.otherwise) if field.otherwise in choices else 0,
        key=f"{key}-otherwise",
    )
    rows = edited.to_dicts() if isinstance(edited, pl.DataFrame) else edited.to_dict("records")
    values = tuple(
        (row["value"], row["outcome"]) for row in rows if row["value"] and row["outcome"]
    )
    said = replace(field, values=values, otherwise=None if other == _REFUSE else other)
    return _with(mapping, said)


def _constant_outcome(
    mapping: mapped.Mapping, field: mapped.Field | None, key: str
) -> mapped.Mapping:
    """Let all requests have one outcome, where no column says what became of them."""
    choices = [_OPEN, *(outcome.value for outcome in Outcome)]
    before = str(field.value) if field is not None and field.value is not None else _OPEN
    said = st.selectbox(
        "What became of every request",
        choices,
        index=choices.index(before) if before in choices else 0,
        key=f"{key}-outcome",
        help="Or add the field outcome with the column that says it.",
    )
    if said == _OPEN:
        return mapping
    return _with(mapping, replace(field or mapped.Field("outcome"), value=said))


def _with(mapping: mapped.Mapping, field: mapped.Field) -> mapped.Mapping:
    """Put a field in the place of the one of its name, so that what is not edited stays equal."""
    fields = tuple(field if each.target == field.target else each for each in mapping.fields)
    return replace(mapping, fields=fields if field in fields else (*fields, field))


def _reasons(draft: _Draft) -> None:
    with st.popover("Why these are proposed"):
        for line in draft.reasons:
            columns = f" ({', '.join(line['columns'])})" if line["columns"] else ""
            st.markdown(
                state.escape(f"{line['key']}{columns}: {line['reason']}")
                + f" :gray[{line['confidence']}]"
            )


def _preview(here: Workspace, batch: Batch, name: str, mapping: mapped.Mapping) -> None:
    """Show what the first rows become, and import when nothing is open."""
    try:
        text = mapped.dumps(mapping)
    except HeadwayError as error:
        st.error(state.escape(str(error)))
        return
    shown = _tried(here, batch.folder / name, text)
    if shown is None:
        return
    if shown["questions"]:
        open_keys = ", ".join(question["key"] for question in shown["questions"])
        st.info(state.escape(f"Still to be said before it can be imported: {open_keys}."))
    for problem in shown["problems"]:
        (st.error if problem["refuses"] else st.warning)(state.escape(problem["message"]))
    _rows(shown)
    ready = shown["is_usable"] and (here.job is None or here.job.state.is_over)
    if st.button(
        "Import with this mapping",
        type="primary",
        disabled=not ready,
        key=f"map-{batch.folder}-{name}",
    ):
        here.again(batch, name, mapping)
        st.rerun()


def _tried(here: Workspace, path: Path, text: str) -> dict[str, Any] | None:
    """Return the preview, made once per file and mapping in a process of its own."""
    known: dict[tuple[str, str], dict[str, Any]] = st.session_state.setdefault("previews", {})
    key = (str(path), text)
    if key not in known:
        with st.spinner("Trying the mapping on the first rows …"):
            said = apart.previewing(path, text, here.scratch()).wait()
        if said.result is None:
            st.error(state.escape(said.failure or ""))
            return None
        known[key] = said.result
    return known[key]


def _rows(shown: Dict[str, Any]) -> None:
    """Show for each field what the table has and what the record gets, row by row."""
    if not shown["fields"]:
        return
    st.markdown("**What the first rows become**")
    columns = {"row": [f"{number}" for number in shown["row_numbers"]]}
    for field in shown["fields"]:
        source = ", ".join(field["source"])
        head = f"{field['target']} ← {source}" if source else field["target"]
        columns[head] = [_cell(field, place) for place in range(len(shown["row_numbers"]))]
    st.dataframe(pl.DataFrame(columns), hide_index=True, alt="The first rows through the mapping")
    sample = "the first " if shown["is_sample"] else ""
    known = ", ".join(f"{field['target']} {field['n_known']:,}" for field in shown["fields"])
    st.caption(state.escape(f"Known in {sample}{shown['n_read']:,} rows: {known}."))
    if len(shown["runs"]) > 1:
        parts.table(
            pl.DataFrame(
                [
                    {
                        **{name: str(value) for name, value in run["split"]},
                        "rows": f"{run['n_rows']:,}",
                    }
                    for run in shown["runs"]
                ]
            )
        )


def _cell(field: Dict[str, Any], place: int) -> str:
    becomes = field["becomes"][place] if place < len(field["becomes"]) else None
    said = "unknown" if becomes is None else f"{becomes}"
    found = [
        each[place] for each in field["found"] if place < len(each) and each[place] is not None
    ]
    return f"{found[0]} → {said}" if found and found[0] != said else said


def _as_text(
    here: Workspace, name: str, draft: _Draft, mapping: mapped.Mapping | None = None
) -> None:
    """Edit the mapping as the TOML that it is saved as, begin with another, and keep it."""
    with st.popover("As text, and saved mappings"):
        saved, _ = mapped.listed(here.library)
        names = [_PROPOSED, *(each.name for each in saved)]
        begin = st.selectbox("Begin with", names, key=f"begin-{name}-{draft.version}")
        if begin != _PROPOSED and st.button("Take it", key=f"take-{name}"):
            chosen = next(each.mapping for each in saved if each.name == begin)
            draft.become(mapped.dumps(chosen))
            st.rerun()
        current = draft.text if mapping is None else mapped.dumps(mapping)
        text = st.text_area("TOML", current, height=320, key=f"text-{name}-{draft.version}")
        if st.button("Use this text", key=f"use-{name}", disabled=text == current):
            draft.become(text)
            st.rerun()
        if mapping is None:
            return
        st.download_button(
            "Download it", current, f"{mapping.name}.toml", "application/toml", key=f"toml-{name}"
        )
        if st.button("Save it for this session", key=f"save-{name}"):
            here.library.mkdir(parents=True, exist_ok=True)
            mapped.save(mapping, here.library)
            st.toast(f"Saved as {state.escape(mapping.name)}")
