"""Damage result files at random and look at what gets in: nothing but what was there before.

    python benchmarks/fuzz.py --flips 2000 --packs 1000

Two questions. Of run files with one flipped bit: does any enter a library, or open in one, with
other rows or another description? Of damaged zips and folders: is a sound file beside them ever
lost, or does the command ever end in a traceback? Both figures must be 0, or the exit code is 1.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
from click.testing import CliRunner

from headway import catalog, ingest, record, sql
from headway.cli import main as command
from headway.cli.validating import checked
from headway.model import RunInfo

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests/importers"
# Results of each kind: a document, lines, a table, a document read through a mapping.
RESULTS = (
    CASES / "vllm/04-vllm-chunk-gaps-are-not-token-gaps/openai-2.0qps-specdec.json",
    ROOT / "sample_data/raw/vidur/request_metrics.csv",
    CASES / "aiperf/07-aiperf-warmup-cancelled-errors/profile_export.jsonl",
)
SOUND = CASES / "vllm/11-closed-loop-startup-burst/openai-infqps-concurrency4.json"
RUN_FILES = ROOT / "sample_data/vidur-azure-conversation"

_TABLES = ("requests", "state", "chunks")
_NO_ROWS = "(0, None)"

# What a run says of itself, and what queries see: requests, state, chunks.
Content = tuple[RunInfo, str, str, str]


@dataclass(slots=True)
class Found:
    """What became of damaged files: how many of each kind, and what must never be."""

    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """How many were tried."""
        return self.kinds.total()

    def __str__(self) -> str:
        return ", ".join(f"{n:,} {kind}" for kind, n in self.kinds.most_common())


def flipped(data: bytes, chance: random.Random) -> tuple[bytes, int]:
    """Return content with one bit flipped, and where."""
    place = chance.randrange(len(data) * 8)
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed), place


def flips(n: int, seed: int, run_files: Sequence[Path], scratch: Path) -> Found:
    """Flip one bit of a run file or its companion, n times; import it and open it.

    Parameters
    ----------
    n, seed
        How many, and which.
    run_files
        The run files to damage, their companions beside them.
    scratch
        An empty folder to work in.
    """
    chance, found = random.Random(seed), Found()  # noqa: S311 to be repeated
    truths = {path: _imported(path, scratch / "truth") for path in run_files}
    for _ in range(n):
        path = chance.choice(run_files)
        companion = path.with_name(f"{path.stem}{record.STATE_SUFFIX}")
        both = [each for each in (path, companion) if each.is_file()]
        folder = scratch / "damaged"
        folder.mkdir()
        for each in both:
            shutil.copy(each, folder)
        target = folder / chance.choice(both).name
        changed, place = flipped(target.read_bytes(), chance)
        target.write_bytes(changed)
        _judge(found, folder / path.name, truths[path], f"{target.name}, bit {place}", scratch)
        shutil.rmtree(folder)
    return found


def _judge(found: Found, path: Path, truth: Content | None, where: str, scratch: Path) -> None:
    """Import and open a damaged file; whatever is taken must be what was there before."""
    taken = _imported(path, scratch / "library")
    found.kinds["imported as it was" if taken else "refused"] += 1
    if not _is_same(taken, truth):
        found.wrong.append(f"imported with other rows or another description: {where}")
    sound = checked(path).is_sound
    opened = _opened([path])
    if not _is_same(opened, truth):
        found.wrong.append(f"opened with other rows or another description: {where}")
    if sound and opened is None:
        found.wrong.append(f"called sound and not opened: {where}")


def _is_same(taken: Content | None, truth: Content | None) -> bool:
    """Say whether what was taken is what was there: all of it, or all but the companion.

    A companion that does not name this write is left over from an interrupted import, as far as
    anyone can see: it is not read, and `headway validate` says so.
    """
    if taken is None or truth is None or taken == truth:
        return True
    without = replace(taken[0], generation="") == replace(truth[0], generation="")
    return without and taken[1] == truth[1] and taken[2] == _NO_ROWS and taken[3] == truth[3]


def _imported(path: Path, library: Path) -> Content | None:
    """Return what a library says after it imported a file; None where it was refused."""
    try:
        report = ingest.import_paths([path], library)
        return _opened([library]) if report.imported else None
    finally:
        shutil.rmtree(library, ignore_errors=True)


def _opened(paths: Sequence[Path]) -> Content | None:
    """Return every row and description that queries see; None where there is no run."""
    opened = catalog.open_catalog(paths)
    try:
        if not opened.runs:
            return None
        (info,) = opened.runs.values()
        requests, state, chunks = (_rows(opened.connection, name) for name in _TABLES)
        return info, requests, state, chunks
    finally:
        opened.connection.close()


def _rows(connection: sql.Connection, table: str) -> str:
    summed = f"SELECT count(*), sum(hash({table})) FROM {table}"  # noqa: S608 names of our own
    return str(connection.execute(summed).fetchone())


def packs(n: int, seed: int, scratch: Path) -> Found:
    """Damage a zip or a folder of results, n times; a sound file beside must get in."""
    chance, found = random.Random(seed), Found()  # noqa: S311 to be repeated
    for _ in range(n):
        folder, library = scratch / "from", scratch / "to"
        folder.mkdir()
        source = chance.choice(RESULTS)
        damage = chance.choice(DAMAGES)
        bad = folder / f"bad{source.suffix}"
        if source.name.startswith(("request_metrics", "profile_export")):
            bad = folder / source.name
        if chance.random() < 0.5:
            bad = folder / "bad.zip"
            kind = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            with zipfile.ZipFile(bad, "w", kind) as archive:
                archive.write(source, source.name)
            bad.write_bytes(damage(bad.read_bytes(), chance))
            named = [bad, folder]
        else:
            bad.write_bytes(damage(source.read_bytes(), chance))
            named = [folder]
        if chance.random() < 0.1:  # a name that is not UTF-8
            (folder / "odd\udcff.json").write_bytes(damage(source.read_bytes(), chance))
        shutil.copy(SOUND, folder / "sound.json")
        where = f"{damage.__name__} of {source.name} in {bad.name}"
        _brought(found, named, library, where)
        shutil.rmtree(folder)
        shutil.rmtree(library, ignore_errors=True)
    return found


def _brought(found: Found, named: Sequence[Path], library: Path, where: str) -> None:
    """Import as the command does, and see that the sound file got in."""
    arguments = ["import", *map(os.fspath, named), "--library", os.fspath(library), "--json"]
    result = CliRunner().invoke(command, arguments)
    if not isinstance(result.exception, SystemExit | None):
        found.kinds["ended in a traceback"] += 1
        found.wrong.append(f"{type(result.exception).__name__}: {where}")
        return
    document = orjson.loads(result.stdout)
    names = {Path(run["source"]).name for run in document["imported"]}
    refused = {Path(entry["source"]).name for entry in document["refused"]}
    kind = "refused" if refused else "imported" if len(names) > 1 else "passed over"
    found.kinds[kind] += 1
    if "sound.json" not in names:
        found.wrong.append(f"lost the sound file: {where}")


def flip(data: bytes, chance: random.Random) -> bytes:
    """Flip one bit."""
    return flipped(data, chance)[0]


def cut(data: bytes, chance: random.Random) -> bytes:
    """Leave out the end."""
    return data[: chance.randrange(len(data))]


def drop(data: bytes, chance: random.Random) -> bytes:
    """Leave out a piece."""
    start, end = _piece(data, chance)
    return data[:start] + data[end:]


def double(data: bytes, chance: random.Random) -> bytes:
    """Say a piece twice."""
    start, end = _piece(data, chance)
    return data[:end] + data[start:]


def blank(data: bytes, chance: random.Random) -> bytes:
    """Overwrite a piece with zeros."""
    start, end = _piece(data, chance)
    return data[:start] + bytes(end - start) + data[end:]


def scramble(data: bytes, chance: random.Random) -> bytes:
    """Overwrite a piece with anything."""
    start, end = _piece(data, chance)
    return data[:start] + chance.randbytes(end - start) + data[end:]


def nest(data: bytes, chance: random.Random) -> bytes:
    """Open more brackets than any reader follows."""
    place = chance.randrange(len(data))
    return data[:place] + b"[" * 20_000 + data[place:]


def swell(data: bytes, chance: random.Random) -> bytes:
    """Make a number larger than any."""
    place = chance.randrange(len(data))
    return data[:place] + b"9" * 400 + data[place:]


def _piece(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data))
    return start, min(len(data), start + chance.randrange(1, 200))


Damage = Callable[[bytes, random.Random], bytes]
DAMAGES: tuple[Damage, ...] = (flip, cut, drop, double, blank, scramble, nest, swell)


def run_files(folder: Path, n: int) -> list[Path]:
    """Return the smallest run files of a folder: more flips in the same time."""
    found = [path for path in folder.glob("*.parquet") if record.is_run_file(path)]
    return sorted(found, key=lambda path: path.stat().st_size)[:n]


def rewritten(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Return run files as this Headway writes them."""
    folder.mkdir()
    return [record.write(record.read(path), folder)[-1] for path in paths]


def main() -> None:
    """Damage, print the figures, and fail on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--flips", type=int, default=2_000)
    parser.add_argument("--packs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="headway-fuzz-") as name:
        os.environ["HEADWAY_CACHE"] = str(Path(name) / "cache")
        scratch = Path(name)
        files = rewritten(run_files(RUN_FILES, 4), scratch / "whole")
        by_question = {
            "run files, one bit flipped": flips(asked.flips, asked.seed, files, scratch),
            "damaged zips and folders": packs(asked.packs, asked.seed, scratch),
        }
    for question, found in by_question.items():
        wrong = "".join(f"  {each}\n" for each in found.wrong[:20])
        sys.stdout.write(f"{question}: {found.n:,}: {found}; {len(found.wrong)} wrong\n{wrong}")
    sys.exit(1 if any(found.wrong for found in by_question.values()) else 0)


if __name__ == "__main__":
    main()
