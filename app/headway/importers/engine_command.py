"""Manifest fields from the command line that started a vLLM server."""

import re
import shlex
from collections.abc import Mapping

from headway.importers.source import as_text, as_whole
from headway.model import Manifest

FLAG = "true"

_SERVERS = ("vllm serve", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server")
_OPTION = re.compile(r"--?[A-Za-z]")
_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "q": "quantization",
}
_PARALLEL = ("tensor", "pipeline", "data")
_THOUSANDS = {"k": 1_000, "m": 1_000_000, "K": 1_024, "M": 1_048_576}


def options(command: str) -> dict[str, str]:
    """Split a command line into its options, names with hyphens; a bare flag has the value `FLAG`.

    Examples
    --------
    >>> options("vllm serve some/model --seed=7 --enforce-eager")
    {'seed': '7', 'enforce-eager': 'true'}
    """
    words = _words(command)
    found: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        if not _OPTION.match(word):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        is_flag = following.startswith("--") or bool(_OPTION.match(following))
        name = name.replace("_", "-")
        found[_SHORT.get(name, name)] = value if equals else (FLAG if is_flag else following)
    return found


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that never closes; the options before it still count
        return command.split()


def manifest(command: str, environment: str = "") -> Manifest:
    """Read the manifest fields that a vLLM command line states.

    Parameters
    ----------
    command
        The line, for instance `vllm serve some/model --max-num-seqs 64`.
    environment
        Variables set for it, as `NAME=value` separated by spaces.

    Returns
    -------
    Manifest
        Empty when the line does not start a vLLM server: the benchmark can target any other.
    """
    if not any(server in command for server in _SERVERS):
        return Manifest()
    stated = options(command)
    return Manifest(
        model=_model(command, stated),
        tokenizer=as_text(stated.get("tokenizer")),
        engine="vLLM",
        precision=as_text(stated.get("dtype")),
        quantisation=as_text(stated.get("quantization")),
        parallelism=_parallelism(stated),
        cache_policy=_cache_policy(stated, environment),
        token_budget=_count(stated.get("max-num-batched-tokens")),
        batch_cap=_count(stated.get("max-num-seqs")),
        context_limit=_count(stated.get("max-model-len")),
    )


def _model(command: str, stated: Mapping[str, str]) -> str | None:
    positional = re.search(r"vllm serve\s+([^\s-]\S*)", command)
    return as_text(stated.get("model")) or (positional.group(1) if positional else None)


def _count(text: str | None) -> int | None:
    """Read a whole number, also one written as 8k (8,000) or 8K (8,192)."""
    if text is not None and text[-1:] in _THOUSANDS:
        number = as_whole(text[:-1])
        return None if number is None else number * _THOUSANDS[text[-1]]
    return as_whole(text)


def _parallelism(stated: Mapping[str, str]) -> str | None:
    sizes = [(kind, stated.get(f"{kind}-parallel-size")) for kind in _PARALLEL]
    parts = [f"{kind} {size}" for kind, size in sizes if size is not None]
    if "enable-expert-parallel" in stated:
        parts.append("expert")
    return ", ".join(parts) or None


def _cache_policy(stated: Mapping[str, str], environment: str) -> str | None:
    """Say in words what the line states of the KV cache: prefix caching, block size, space."""
    variables = dict(word.partition("=")[::2] for word in environment.split() if "=" in word)
    space = variables.get("VLLM_CPU_KVCACHE_SPACE")
    parts = [
        "prefix caching on" if "enable-prefix-caching" in stated else None,
        "prefix caching off" if "no-enable-prefix-caching" in stated else None,
        _worded("block size {}", stated.get("block-size")),
        _worded("{} blocks", stated.get("num-gpu-blocks-override")),
        _worded("KV cache type {}", stated.get("kv-cache-dtype")),
        _worded("KV cache {} bytes", stated.get("kv-cache-memory-bytes")),
        _worded("KV cache space {} GiB", space),
        _worded("memory share {}", stated.get("gpu-memory-utilization")),
    ]
    return ", ".join(part for part in parts if part) or None


def _worded(sentence: str, value: str | None) -> str | None:
    return None if value is None else sentence.format(value)
