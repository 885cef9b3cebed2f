"""What the person importing says about the runs, over whatever the files say."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from headway.errors import MisuseError
from headway.model import Load, Manifest, RunInfo, TokenCounter

_PLAIN: dict[str, Any] = {
    "label": str,
    "replicate": int,
    "started_at": datetime,
    "harness_version": str,
}
_TABLES: dict[str, type[Load] | type[Manifest]] = {"load": Load, "manifest": Manifest}
# Not part of the description: how the source is to be read.
COUNTER = "token_counter"
_STRICT = ConfigDict(allow_inf_nan=False)
_FORBIDDEN = set('/\\:*?"<>|')


def valid_keys() -> list[str]:
    """Return every key that `--set` understands."""
    dotted = [f"{table}.{f.name}" for table, kind in _TABLES.items() for f in fields(kind)]
    return sorted([*_PLAIN, COUNTER, *dotted])


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller states; each statement wins over the source.

    Parameters
    ----------
    study
        Study to file the runs under; else the nearest `study.toml` above the source decides.
    policy
        Name of the scheduling policy.
    set
        Values by key, see `valid_keys`; text is turned into the type of the field.

    Raises
    ------
    MisuseError
        A key is unknown, or a value does not fit it.
    """

    study: str | None = None
    policy: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could not be applied to any run."""
        if self.study is not None:
            check_study(self.study)
        _typed(self.set)

    @property
    def counter(self) -> TokenCounter:
        """Whose token counts to take where a source has two."""
        stated: TokenCounter = _typed(self.set).get(COUNTER, TokenCounter.TOOL)
        return stated

    def apply(self, info: RunInfo) -> RunInfo:
        """Return a description with the stated values in place of the source's."""
        stated = _typed(self.set)
        changes = {key: value for key, value in stated.items() if key in _PLAIN}
        for table in _TABLES:
            prefix = f"{table}."
            inside = {k.removeprefix(prefix): v for k, v in stated.items() if k.startswith(prefix)}
            changes[table] = replace(getattr(info, table), **inside)
        if self.policy is not None:
            changes["policy"] = self.policy
        return replace(info, **changes)


def check_study(name: str) -> str:
    """Return a study's name if it can be the name of a folder everywhere.

    Raises
    ------
    MisuseError
        It is empty, hidden, longer than 100 characters or holds a character folders may not have.
    """
    printable = name.isprintable() and not _FORBIDDEN & set(name)
    if not printable or name != name.strip(" .") or not 0 < len(name) <= 100:
        raise MisuseError(
            f"study {name!r} cannot be the name of a folder; expected up to 100 printable "
            'characters without / \\ : * ? " < > | and without a dot or blank at either end'
        )
    return name


def _typed(stated: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(key, value) for key, value in stated.items()}


def _value(key: str, value: object) -> Any:
    table, _, name = key.partition(".")
    if key in _PLAIN:
        typed = _convert(key, value, _PLAIN[key])
    elif key == COUNTER:
        typed = _convert(key, value, TokenCounter)
    elif table in _TABLES and name in {f.name for f in fields(_TABLES[table])}:
        typed = _convert(key, value, _TABLES[table].__dataclass_fields__[name].type)
    else:
        raise MisuseError(f"unknown key {key!r}; expected one of {', '.join(valid_keys())}")
    is_number = isinstance(typed, int | float)
    if is_number and (typed < 0 or (typed == 0 and table == "load")):
        raise MisuseError(f"{key} = {value!r}; expected a number above 0")
    return _utc(key, typed) if isinstance(typed, datetime) else typed


def _convert(key: str, value: object, kind: Any) -> Any:
    """Turn a value into a field's type; text that is empty fits no field."""
    try:
        typed = TypeAdapter(kind, config=_STRICT).validate_python(value)
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise MisuseError(f"{key} = {value!r}; {message[0].lower()}{message[1:]}") from error
    if typed is None or typed == "":
        raise MisuseError(f"{key} is empty; leave it out to keep what the source says")
    return typed


def _utc(key: str, moment: datetime) -> str:
    if moment.tzinfo is None:
        raise MisuseError(
            f"{key} = {moment.isoformat()!r} has no time zone; expected for instance "
            f"{moment.isoformat()}Z"
        )
    return moment.astimezone(UTC).isoformat()


def differences(old: RunInfo, new: RunInfo) -> tuple[str, ...]:
    """Name the fields in which two descriptions of one run differ, `rows` for the requests."""
    before, after = _flat(old), _flat(new)
    return tuple(name for name in after if before[name] != after[name])


def _flat(info: RunInfo) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in asdict(info).items():
        if name in _TABLES:
            flat |= {f"{name}.{inner}": entry for inner, entry in value.items()}
        elif name == "rows_sha256":
            flat["rows"] = value
        elif name != "generation":
            flat[name] = value
    return flat
