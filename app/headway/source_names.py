"""What the name of a result file says beside its load: the words that people name policies with.

`chunk256-rate4-rep2.json` is of the family `chunk256`, its load is 4 and its replicate 2.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

_NUMBER = r"(?:inf|\d+(?:\.\d+)?)"
_EDGE = r"(?<![a-z0-9.])"
_END = r"(?![a-z0-9]|\.\d)"
_TIME = re.compile(
    rf"{_EDGE}(?:\d{{4}}-\d\d-\d\d(?:[t_ -]\d\d[-:]?\d\d(?:[-:]?\d\d(?:\.\d+)?)?z?)?"
    rf"|\d{{8}}(?:[t_-]?\d{{4}}(?:\d\d)?z?)?|1\d{{9}}(?:\d{{3}})?){_END}"
)
_LOAD = re.compile(
    rf"{_EDGE}(?:"
    r"(?:request[-_]?rate|rate|qps|rps|rs|load|max[-_]?concurrency|concurrency|conc|users|"
    r"burstiness|burst)"
    rf"[-_=]?{_NUMBER}|{_NUMBER}[-_]?(?:qps|rps|reqps|req[-_]?s|users|concurrent)){_END}"
)
_REPLICATE = re.compile(
    rf"{_EDGE}(?:replicate|repeat|rep|trial|run|attempt|iteration|iter|seed|r)[-_=]?(\d+){_END}"
)
_BETWEEN = re.compile(r"([-_. ])[-_. ]+")
# What a result file is called whatever it holds.
_PLAIN = frozenset(
    "result results benchmark benchmarks bench output run data profile_export report".split()
)


@dataclass(frozen=True, slots=True)
class SourceName:
    """A source's name in parts; each is empty where nothing but a load or a number was said.

    `replicate` is the number that the name counts repetitions by.
    """

    folder: str
    file: str
    replicate: str | None


def read(name: str, load: float | None = None) -> SourceName:
    """Read the name of a source, with the folders it was found in.

    Parameters
    ----------
    name
        As the record keeps it: relative to what was imported, with forward slashes.
    load
        The offered load. A bare number that equals it says nothing else.

    Examples
    --------
    >>> read("night/chunk256-rate4-rep2.json", 4.0)
    SourceName(folder='night', file='chunk256', replicate='2')
    """
    path = PurePosixPath(name)
    folders = [_family(part, load) for part in path.parent.parts if part not in ("/", "..", ".")]
    file = _family(_stem(path.name), load)
    counted = _REPLICATE.findall(_TIME.sub(" ", name.lower()))
    return SourceName(
        folder="/".join(part for part in folders if part),
        file="" if file.lower() in _PLAIN else file,
        replicate="-".join(counted) or None,
    )


def without_common_ends(names: Iterable[str]) -> dict[str, str]:
    """Return names without the words that all of them begin or end with.

    Examples
    --------
    >>> without_common_ends(["vllm-chunk256-a100", "vllm-chunk2048-a100"])
    {'vllm-chunk256-a100': 'chunk256', 'vllm-chunk2048-a100': 'chunk2048'}
    """
    split = {name: re.split(r"([-_./ ]+)", name) for name in dict.fromkeys(names)}
    if len(split) < 2:
        return {name: name for name in split}
    shortest = min(map(len, split.values())) - 1
    first = _n_common([words[:shortest] for words in split.values()])
    first -= first % 2  # words stand at even places, what is between them at odd ones
    rest = {name: words[first:] for name, words in split.items()}
    shortest = min(map(len, rest.values())) - 1
    last = _n_common([words[::-1][:shortest] for words in rest.values()])
    last -= last % 2
    return {name: "".join(words[: len(words) - last]) for name, words in rest.items()}


def _n_common(lists: list[list[str]]) -> int:
    """Return how many entries all lists begin with alike."""
    n_alike = 0
    for entries in zip(*lists, strict=True):
        if len(set(entries)) > 1:
            break
        n_alike += 1
    return n_alike


def _stem(file: str) -> str:
    """Return a file's name without its suffixes; a point inside a number begins none."""
    while match := re.search(r"\.(?!\d)[A-Za-z][A-Za-z0-9]{0,8}$", file):
        if match.start() == 0:
            break
        file = file[: match.start()]
    return file


def _family(text: str, load: float | None) -> str:
    """Return a name without times, loads and numbers of replicates."""
    found = text
    for pattern in (_TIME, _LOAD, _REPLICATE):
        found = _cut(found, pattern)
    if load is not None and found == _cut(text, _TIME, _REPLICATE):
        bare = re.compile(rf"{_EDGE}0*{re.escape(f'{load:g}')}(?:\.0+)?{_END}")
        found = _cut(found, bare, n_most=1)
    return _BETWEEN.sub(r"\1", found).strip("-_. ")


def _cut(text: str, *patterns: re.Pattern[str], n_most: int = 0) -> str:
    """Return a text, in its own letters, without what patterns match in small ones."""
    for pattern in patterns:
        spans = [match.span() for match in pattern.finditer(text.lower())]
        for start, end in reversed(spans[: n_most or None]):
            text = text[:start] + text[end:]
    return text
