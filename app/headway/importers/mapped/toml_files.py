"""A mapping as TOML: strict reading, and writing that reads back as the very same mapping."""

import json
import math
import tomllib
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Dict
from enum import StrEnum
from pathlib import Path
from typing import Any

from headway.errors import MisuseError
from headway.importers.mapped.checks import check
from headway.importers.mapped.mapping import (
    NESTED_FACTS,
    Epoch,
    Fact,
    Field,
    Format,
    Kind,
    Layout,
    Mapping,
    Purpose,
    Scalar,
    Unit,
)
from headway.model import OutcomeBasis

VERSION = 1

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def read(path: Path) -> Mapping:
    """Read a mapping from a file.

    Raises
    ------
    MisuseError
        The file cannot be read, is not TOML, or says something that no mapping can say.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise MisuseError(
            f"mapping {path} cannot be read ({reason}); expected a TOML file"
        ) from error
    return loads(text, path.stem)


def loads(text: str, name: str = "mapping") -> Mapping:
    """Return the mapping that a TOML text says; `name` is its name where it has none of its own.

    Raises
    ------
    MisuseError
        It is not TOML, has a key that no mapping has, or a value that does not fit its key.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MisuseError(f"mapping {name}: {error}; expected a TOML file") from error
    top = _Table(name, content)
    version = top.take("headway_mapping", int, None)
    if version != VERSION:
        raise MisuseError(
            f"mapping {name}: headway_mapping = {version!r}; expected headway_mapping = {VERSION} "
            "as its first line"
        )
    mapping = Mapping(
        name=top.take("name", str, name),
        purpose=top.choice("kind", Purpose, Purpose.RUN),
        made_for=top.texts("made_for"),
        format=_format(top.table("format")),
        facts=_facts(top.table("run")),
        split_by=top.texts("split_by"),
        fields=_fields(top.table("fields")),
        tolerate=top.texts("tolerate"),
    )
    top.finish()
    check(mapping)
    return mapping


class _Table:
    """A table of the file: each key is taken once, and a key that is left over is misuse."""

    def __init__(self, where: str, content: Dict[str, Any]) -> None:
        self.where = where
        self.content = dict(content)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = self.content.pop(key, default)
        is_wrong_flag = isinstance(value, bool) and kind not in (bool, _SCALARS)
        if value is not None and (not isinstance(value, kind) or is_wrong_flag):
            raise self.wrong(key, value, getattr(kind, "__name__", "text, a number or true/false"))
        return value

    def choice(self, key: str, kind: type[StrEnum], default: Any = None) -> Any:
        value = self.take(key, str, None)
        if value is None:
            return default
        if value not in list(kind):
            raise self.wrong(key, value, f"one of {', '.join(kind)}")
        return kind(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.content.pop(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise self.wrong(key, value, "text, or a list of texts")
        return tuple(values)

    def scalars(self, key: str) -> tuple[Scalar, ...]:
        value = self.content.pop(key, [])
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(each, _SCALARS) for each in values):
            raise self.wrong(key, value, "a value, or a list of values")
        return tuple(values)

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        table = self.table(key)
        return tuple((name, table.take(name, str, None)) for name in list(table.content))

    def table(self, key: str) -> "_Table":
        return _Table(f"{self.where} [{key}]", self.take(key, dict, {}))

    def finish(self) -> None:
        if self.content:
            raise MisuseError(f"mapping {self.where}: unknown keys {', '.join(self.content)}")

    def wrong(self, key: str, value: object, expected: str) -> MisuseError:
        return MisuseError(f"mapping {self.where}: {key} = {value!r}; expected {expected}")


_SCALARS = (str, int, float, bool)


def _format(table: _Table) -> Format:
    only = table.table("only")
    form = Format(
        delimiter=table.take("delimiter", str, ","),
        decimal=table.take("decimal", str, "."),
        encoding=table.take("encoding", str, "utf-8"),
        table=table.take("table", str, None),
        rows=table.texts("rows"),
        layout=table.choice("layout", Layout, Layout.ROWS),
        id=table.take("id", str, None),
        event=table.take("event", str, None),
        order=table.take("order", str, None),
        only=tuple((column, only.texts(column)) for column in list(only.content)),
    )
    table.finish()
    return form


def _facts(table: _Table) -> tuple[Fact, ...]:
    found = []
    for key, value in table.content.items():
        if key in NESTED_FACTS and isinstance(value, dict):
            found += [_fact(table, f"{key}.{inner}", each) for inner, each in value.items()]
        else:
            found.append(_fact(table, key, value))
    return tuple(found)


def _fact(table: _Table, key: str, value: object) -> Fact:
    if not isinstance(value, dict):
        if not isinstance(value, _SCALARS):
            raise table.wrong(key, value, 'a value, or { from = "column" }')
        return Fact(key, value)
    inner = _Table(f"{table.where} {key}", value)
    fact = Fact(
        key,
        source=inner.take("from", str, None),
        values=inner.pairs("values"),
        unknown=inner.scalars("unknown"),
        optional=inner.take("optional", bool, False),
    )
    inner.finish()
    if fact.source is None:
        raise table.wrong(key, value, 'a value, or { from = "column" }')
    return fact


def _fields(table: _Table) -> tuple[Field, ...]:
    return tuple(_field(table.table(target), target) for target in list(table.content))


def _field(table: _Table, target: str) -> Field:
    field = Field(
        target=target,
        source=table.texts("from"),
        value=table.take("value", _SCALARS, None),
        unit=table.choice("unit", Unit),
        kind=table.choice("as", Kind),
        epoch=table.choice("epoch", Epoch),
        minus=table.take("minus", str, None),
        default=table.take("default", _SCALARS, None),
        unknown=table.scalars("unknown"),
        values=table.pairs("values"),
        otherwise=table.take("otherwise", str, None),
        basis=table.choice("basis", OutcomeBasis),
        optional=table.take("optional", bool, False),
    )
    table.finish()
    return field


def dumps(mapping: Mapping, comments: Iterable[str] = ()) -> str:
    """Return a mapping as TOML that `loads` reads back as the very same mapping."""
    lines = [f"# {_one_line(comment)}" for comment in comments]
    lines += [f"headway_mapping = {VERSION}", f"name = {_value(mapping.name)}"]
    lines.append(f"kind = {_value(mapping.purpose)}")
    lines += _stated({"made_for": mapping.made_for, "split_by": mapping.split_by})
    lines += _stated({"tolerate": mapping.tolerate})
    lines += _section("format", _format_lines(mapping.format))
    lines += _section("run", [_fact_line(fact) for fact in mapping.facts])
    for field in mapping.fields:
        lines += ["", f"[fields.{_key(field.target)}]", *_field_lines(field)]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _section(name: str, lines: list[str]) -> list[str]:
    return ["", f"[{name}]", *lines] if lines else []


def _format_lines(form: Format) -> list[str]:
    usual = Format()
    names = ("delimiter", "decimal", "encoding", "table", "rows", "layout", "id", "event", "order")
    stated = {
        name: getattr(form, name) for name in names if getattr(form, name) != getattr(usual, name)
    }
    lines = _stated(stated)
    return [*lines, f"only = {_inline(form.only)}"] if form.only else lines


def _fact_line(fact: Fact) -> str:
    key = ".".join(_key(part) for part in fact.key.split(".", 1))
    if fact.source is None:
        return f"{key} = {_value(fact.value)}"
    parts = [f"from = {_value(fact.source)}"]
    parts += [f"values = {_inline(fact.values)}"] if fact.values else []
    parts += [f"unknown = {_value(fact.unknown)}"] if fact.unknown else []
    parts += ["optional = true"] if fact.optional else []
    return f"{key} = {{ {', '.join(parts)} }}"


def _field_lines(field: Field) -> list[str]:
    source = field.source[0] if len(field.source) == 1 else field.source
    stated = {
        "from": source,
        "value": field.value,
        "unit": field.unit,
        "as": field.kind,
        "epoch": field.epoch,
        "minus": field.minus,
        "default": field.default,
        "unknown": field.unknown,
    }
    lines = _stated(stated)
    lines += [f"values = {_inline(field.values)}"] if field.values else []
    rest = {"otherwise": field.otherwise, "basis": field.basis, "optional": field.optional or None}
    return [*lines, *_stated(rest)]


def _stated(values: Dict[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in values.items() if value not in (None, ())]


def _inline(pairs: Iterable[tuple[str, Any]]) -> str:
    return "{ " + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in pairs) + " }"


def _key(text: str) -> str:
    return text if text and set(text) <= _BARE else _value(text)


def _value(value: object) -> str:
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise TypeError(f"{value!r} has no place in a mapping")


def _text(value: str) -> str:
    # JSON escapes as TOML does, save for DEL, which TOML does not take as it is.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (str, _text),
    (int, str),
    (float, _number),
    (tuple, lambda values: "[" + ", ".join(_value(each) for each in values) + "]"),
)
