"""The process in which untrusted files are read: one request in, events out.

The request is a JSON object on standard input, the events are JSON objects on standard output, one
a line; see `headway.ingest.apart`, which starts it and reads them.
"""

import resource
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from headway import ingest
from headway.errors import HeadwayError
from headway.importers import mapped
from headway.ingest.archives import Unpacking
from headway.ingest.settings import Settings

_EVERY_S = 0.1


def main() -> None:
    """Read the request, take on its limits, do what it asks, and tell how it went."""
    request = orjson.loads(sys.stdin.buffer.read())
    _limit(request["limits"])
    try:
        _tell({"result": _TASKS[request["task"]](request)})
    except HeadwayError as error:
        _tell({"refused": str(error)})
    except MemoryError:
        _tell({"memory": True})


def _import(request: dict[str, Any]) -> dict[str, Any]:
    said = request["settings"]
    mapping = request["mapping"]
    report = ingest.import_paths(
        [Path(path) for path in request["paths"]],
        Path(request["library"]),
        Settings(study=said["study"], policy=said["policy"], set=said["set"]),
        progress=_Teller(),
        mapping=None if mapping is None else mapped.loads(mapping),
        unpacking=Unpacking(**request["unpacking"]),
    )
    return ingest.report_json(report)


def _propose(request: dict[str, Any]) -> dict[str, Any]:
    found = mapped.propose(Path(request["path"]), Path(request["library"]))
    return {
        "mapping": mapped.dumps(found.mapping),
        "known": found.known,
        "lines": [asdict(line) for line in found.lines],
        "questions": [asdict(question) for question in found.questions],
    }


def _preview(request: dict[str, Any]) -> dict[str, Any]:
    found = mapped.preview(Path(request["path"]), mapped.loads(request["mapping"]))
    return asdict(found) | {"is_usable": found.is_usable}


_TASKS = {"import": _import, "propose": _propose, "preview": _preview}


class _Teller:
    """Tells of the steps, not more often than a reader can follow."""

    def __init__(self) -> None:
        self._name = ""
        self._told_s = 0.0

    def __call__(self, step: ingest.Step) -> None:
        now_s = time.monotonic()
        if step.name == self._name and now_s - self._told_s < _EVERY_S:
            return
        self._name, self._told_s = step.name, now_s
        _tell(
            {
                "step": {
                    "n_done": step.n_done,
                    "n_sources": step.n_sources,
                    "name": step.name,
                    "share": step.share,
                }
            }
        )


def _tell(event: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(event, default=str) + b"\n")
    sys.stdout.buffer.flush()


def _limit(limits: dict[str, int]) -> None:
    """Give the process bounds that the system enforces, whatever a file makes it do.

    RLIMIT_DATA counts what is allocated; the address space also has mapped files and what
    allocators only set aside.
    """
    bounds = {
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    # Python ignores the signal of a file that grows too large, which then looks like a full disk.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    for kind, bound in bounds.items():
        _, hard = resource.getrlimit(kind)
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (allowed, allowed))


if __name__ == "__main__":
    main()
