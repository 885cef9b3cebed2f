"""What Vidur's `config.json` says of a run: policy, load and manifest."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from headway.importers.source import as_number, as_text, as_whole, dig
from headway.model import Load, LoadKind, Manifest

Config = Mapping[str, Any] | None

_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}")
_DEFAULT_OUTPUT = "simulator_output"
_RATE_IN_NAME = re.compile(r"qps(\d+(?:\.\d+)?)")
# Each scheduler calls its token budget by its own name.
_BUDGETS = ("chunk_size", "max_tokens_in_batch")


def time_limit_s(config: Config) -> float | None:
    """Return the simulated time at which the run was to stop; None for no limit."""
    return as_number(dig(config, "time_limit")) or None


def policy(config: Config) -> str | None:
    """Return the replica scheduler's name."""
    return as_text(dig(_scheduler(config), "name"))


def policy_parameters(config: Config) -> dict[str, str]:
    """Return the replica scheduler's settings, as text."""
    settings = _scheduler(config)
    if not isinstance(settings, Mapping):
        return {}
    return {
        key: str(value)
        for key, value in settings.items()
        if key != "name" and isinstance(value, str | int | float)
    }


def label(config: Config) -> str | None:
    """Return the name the user gave the output folder, which holds one stamped folder a run."""
    output = as_text(dig(config, "metrics_config", "output_dir")) or ""
    named = [part for part in PurePosixPath(output).parts if not _STAMP.match(part)]
    last = named[-1] if named else None
    return None if last in (_DEFAULT_OUTPUT, "/", ".", "..") else last


def load(config: Config) -> Load:
    """Return the load: a replayed trace, or arrivals drawn at a rate."""
    generator = dig(config, "request_generator_config")
    if dig(generator, "name") == "trace_replay":
        return Load(LoadKind.TRACE, declared_rps=_trace_rps(generator), arrivals="trace")
    interval = dig(generator, "interval_generator_config")
    return Load(
        LoadKind.OPEN,
        declared_rps=as_number(dig(interval, "qps")),
        arrivals=as_text(dig(interval, "name")),
    )


def _trace_rps(generator: object) -> float | None:
    """Divide the rate in the trace file's name by the factor that stretches its arrivals."""
    rate = _RATE_IN_NAME.search(_trace_name(generator) or "")
    scale = as_number(dig(generator, "time_scale_factor"))
    if rate is None or not scale or scale < 0:
        return None
    return round(float(rate.group(1)) / scale, 6)


def _trace_name(generator: object) -> str | None:
    path = as_text(dig(generator, "trace_file"))
    return None if path is None else PurePosixPath(path).name


def manifest(config: Config) -> Manifest:
    """Return the manifest fields that the configuration states."""
    generator = dig(config, "request_generator_config")
    replica = dig(config, "cluster_config", "replica_config")
    scheduler = _scheduler(config)
    budgets = (as_whole(dig(scheduler, name)) for name in _BUDGETS)
    return Manifest(
        model=as_text(dig(replica, "model_name")),
        engine=_engine(config),
        devices=_devices(config, replica),
        interconnect=as_text(dig(replica, "network_device")),
        parallelism=_parallelism(replica),
        cache_policy=_cache_policy(scheduler),
        token_budget=next((budget for budget in budgets if budget is not None), None),
        batch_cap=as_whole(dig(scheduler, "batch_size_cap")),
        context_limit=as_whole(dig(generator, "max_tokens")),
        arrival_process=_arrival_process(generator),
        dataset=_trace_name(generator),
        seed=as_whole(dig(config, "seed")),
        client_location=None if config is None else "none: arrivals are simulated",
    )


def _scheduler(config: Config) -> object:
    return dig(config, "cluster_config", "replica_scheduler_config")


def _engine(config: Config) -> str | None:
    predictor = as_text(dig(config, "execution_time_predictor_config", "name"))
    if config is None:
        return None
    return f"Vidur (simulated, approximate kernel profile: {predictor or 'not recorded'})"


def _devices(config: Config, replica: object) -> str | None:
    device = as_text(dig(replica, "device"))
    replicas = as_whole(dig(config, "cluster_config", "num_replicas")) or 1
    tensor = as_whole(dig(replica, "tensor_parallel_size")) or 1
    pipeline = as_whole(dig(replica, "num_pipeline_stages")) or 1
    return None if device is None else f"{replicas * tensor * pipeline} × {device}"


def _parallelism(replica: object) -> str | None:
    tensor = as_whole(dig(replica, "tensor_parallel_size"))
    pipeline = as_whole(dig(replica, "num_pipeline_stages"))
    if tensor is None or pipeline is None:
        return None
    return f"tensor {tensor}, pipeline {pipeline}"


def _cache_policy(scheduler: object) -> str | None:
    block_size = as_whole(dig(scheduler, "block_size"))
    watermark = as_number(dig(scheduler, "watermark_blocks_fraction"))
    parts = [
        None if block_size is None else f"block size {block_size}",
        None if watermark is None else f"watermark {watermark:g} of the blocks",
    ]
    return ", ".join(part for part in parts if part) or None


def _arrival_process(generator: object) -> str | None:
    """Name the process without its rate: a sweep over rates is one configuration."""
    if dig(generator, "name") == "trace_replay":
        return "trace replay"
    return as_text(dig(generator, "interval_generator_config", "name"))
