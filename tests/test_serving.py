"""The dashboard as a process: it starts, answers, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from libraries import make_run, write

RESULT = Path(__file__).parent / "importers" / "vllm" / "chat-rate7" / "result.json"
COMMAND = "from headway.cli import main; main()"

type_start = Callable[..., tuple[subprocess.Popen[bytes], int]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answer(port: int, path: str = "_stcore/health") -> str | None:
    """Return what the server says, None where nobody listens yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as response:
            return str(response.read().decode())
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def wait_until(holds: Callable[[], bool], attempts: int = 300) -> None:
    for _ in range(attempts):
        if holds():
            return
        time.sleep(0.2)
    pytest.fail("waited in vain")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return the folder that the process takes for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, scratch: Path) -> Iterator[type_start]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: object) -> tuple[subprocess.Popen[bytes], int]:
        port = free_port()
        command = [sys.executable, "-c", COMMAND, "serve", *map(str, arguments)]
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(scratch)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process, port

    yield begin
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["library", "result"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop_and_cleans_up(
    kind: str, number: signal.Signals, start: type_start, tmp_path: Path, scratch: Path
) -> None:
    library = tmp_path / "library"
    write(make_run([{"ttft_us": 5}]), library)
    process, port = start({"library": library, "result": RESULT}[kind])
    wait_until(lambda: answer(port) == "ok" or process.poll() is not None)
    assert process.poll() is None
    page = answer(port, "")
    assert page is not None
    assert "<title>" in page
    process.send_signal(number)
    assert process.wait(timeout=30) == 0
    assert answer(port) is None
    assert list(scratch.glob("headway-*")) == []


@pytest.mark.slow
def test_stopping_it_before_it_is_up_leaves_nothing(start: type_start, scratch: Path) -> None:
    process, port = start(RESULT)
    wait_until(lambda: list(scratch.glob("headway-*")) != [] or process.poll() is not None)
    process.terminate()
    process.wait(timeout=30)
    assert list(scratch.glob("headway-*")) == []
    assert answer(port) is None


def test_a_path_that_does_not_exist_is_misuse(start: type_start, tmp_path: Path) -> None:
    process, _ = start(tmp_path / "none")
    assert process.wait(timeout=60) == 2
