"""A study: the question, the objectives declared for it, and what is known to be open.

`study.toml` lies in the folder of the study's run files, or beside the source files;
docs/formats.md lists its keys.
"""

import math
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from headway.errors import MisuseError
from headway.model import Objective

FILE_NAME = "study.toml"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Alternate:
    """Another way to state the objective, for the reader to hold beside the declared one."""

    title: str
    objective: Objective


@dataclass(frozen=True, slots=True)
class Study:
    """What `study.toml` says; an absent file leaves everything but the name unknown.

    `trace` is a file in the study's folder that holds the customer's traffic, and `trace_mapping`
    one that says what its columns mean, where it has none of the known shapes. `workload` and
    `workload_mapping` are the same of the frozen workload that every run was to offer.
    """

    name: str
    title: str | None = None
    question: str | None = None
    objective: Objective | None = None
    declared_at: str | None = None
    declared_by: str | None = None
    alternates: tuple[Alternate, ...] = ()
    notes: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    recommendation: str | None = None
    decided_by: str | None = None
    decided_on: str | None = None
    trace: str | None = None
    trace_mapping: str | None = None
    workload: str | None = None
    workload_mapping: str | None = None

    def files(self) -> tuple[str, ...]:
        """Return the names of the files that it names."""
        named = (self.trace, self.trace_mapping, self.workload, self.workload_mapping)
        return tuple(name for name in named if name is not None)


def nearest(path: Path) -> Path | None:
    """Return the folder whose `study.toml` is nearest above a path, if there is one."""
    folder = path if path.is_dir() else path.parent
    above = (folder, *folder.parents)
    return next((parent for parent in above if (parent / FILE_NAME).is_file()), None)


def read(folder: Path) -> Study:
    """Read the study of a folder; its name is the folder's unless the file says otherwise.

    Raises
    ------
    MisuseError
        The file is not TOML, or a key has a value of the wrong kind.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return Study(folder.resolve().name)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MisuseError(f"{folder.name}/{FILE_NAME} cannot be read ({reason})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MisuseError(f"{folder.name}/{FILE_NAME}: {error}; expected a TOML file") from error
    try:
        return _study(folder.resolve().name, content)
    except (TypeError, ValueError, OverflowError) as error:
        raise MisuseError(f"{folder.name}/{FILE_NAME}: {error}") from error


def _study(name: str, content: dict[str, Any]) -> Study:
    declared = _mapping(content, "objective")
    decision = _mapping(content, "decision")
    return Study(
        name=_text(content, "name") or name,
        title=_text(content, "title"),
        question=_text(content, "question"),
        objective=_objective("objective", declared) if declared else None,
        declared_at=_text(declared, "declared_at"),
        declared_by=_text(declared, "declared_by"),
        alternates=tuple(
            Alternate(_text(entry, "title") or "alternate", _objective("alternate", entry))
            for entry in _tables(content, "alternate")
        ),
        notes=_texts(content, "notes"),
        unresolved=_texts(content, "unresolved"),
        recommendation=_text(decision, "recommendation"),
        decided_by=_text(decision, "by"),
        decided_on=_text(decision, "on"),
        trace=_file(content, "trace"),
        trace_mapping=_file(content, "trace_mapping"),
        workload=_file(content, "workload"),
        workload_mapping=_file(content, "workload_mapping"),
    )


def _objective(table: str, content: dict[str, Any]) -> Objective:
    values = {}
    for field in fields(Objective):
        value = content.get(field.name)
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value <= 0:
            raise ValueError(f"[{table}] {field.name} = {value!r}; expected a number above 0")
        values[field.name] = float(value)
    for share in ("attainment", "repeats"):
        if values.get(share, 0) > 1:
            raise ValueError(f"[{table}] {share} = {values[share]}; expected a share up to 1")
    return Objective(**values)


def _file(content: dict[str, Any], key: str) -> str | None:
    """Return the name of a file in the study's folder."""
    value = content.get(key)
    under = next((k for k, v in content.items() if isinstance(v, dict) and key in v), None)
    if under is not None:
        raise ValueError(f"{key} stands under [{under}]; expected it above the first table")
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{key} = {value!r}; expected the name of a file in the study's folder")
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\\" in value or ":" in value:
        raise ValueError(
            f"{key} = {value!r} leads out of the study's folder; put the file into the folder and "
            "give its name"
        )
    return value


def _mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise TypeError(f"{key} = {value!r}; expected a table [{key}]")
    return value


def _tables(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise TypeError(f"{key} = {value!r}; expected tables [[{key}]]")
    return value


def _text(content: dict[str, Any], key: str) -> str | None:
    value = content.get(key)
    return None if value is None else str(value)


def _texts(content: dict[str, Any], key: str) -> tuple[str, ...]:
    values = content.get(key, [])
    if not isinstance(values, list):
        raise TypeError(f"{key} = {values!r}; expected a list of sentences")
    return tuple(str(value) for value in values)
