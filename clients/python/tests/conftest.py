"""The real program in processes that end with their tests."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from judge_cascade_client import Chunk, Trace

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("JUDGE_CASCADE_BINARY", str(ROOT / "target" / "release" / "judge-cascade"))
# Ten times what anything here should take on a slow machine.
GUARD = 60.0

FACT = "On Sundays the public pool opens at nine in the morning."
QUOTED = Trace(
    trace_id="t1",
    question="When does the public pool open on Sundays?",
    chunks=[Chunk("c1", FACT)],
    answer=FACT,
)


@dataclass
class Sidecar:
    """A running `serve`."""

    process: subprocess.Popen[str]
    endpoint: str
    admin: str
    http: str

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it and tells its exit code."""
        self.process.send_signal(number)
        return self.process.wait(GUARD)

    def series(self, name_and_labels: str) -> float:
        """The value of a metric; 0 if there is none yet."""
        import urllib.request

        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=GUARD) as response:
            for line in response.read().decode().splitlines():
                if line.startswith(f"{name_and_labels} "):
                    return float(line.rsplit(" ", 1)[1])
        return 0.0

    def reaches(self, name_and_labels: str, value: float) -> None:
        """Waits until a metric has a value."""
        eventually(lambda: self.series(name_and_labels) >= value)


def eventually(holds: Callable[[], bool]) -> None:
    """Asks again and again until it holds."""
    end = time.monotonic() + GUARD
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


Start = Callable[..., Sidecar]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts sidecars, and ends them with the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **environment: str) -> Sidecar:
        log = tmp_path / f"sidecar-{len(running)}.log"
        listen = [] if "--uds" in arguments or "--listen" in arguments else ["--listen", "127.0.0.1:0"]
        ports = ["--admin-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]
        with log.open("w") as errors:
            process = subprocess.Popen(
                [BINARY, "serve", *listen, *ports, *arguments],
                stdin=subprocess.DEVNULL,
                stderr=errors,
                text=True,
                env=environment,
            )
        running.append(process)
        serving: list[dict[str, str]] = []

        def serves() -> bool:
            assert process.poll() is None, log.read_text()
            lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
            serving[:] = [line for line in lines if line.get("message") == "serving"]
            return bool(serving)

        eventually(serves)
        return Sidecar(process, serving[0]["listen"], serving[0]["admin"], serving[0]["http"])

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait(GUARD)


@pytest.fixture
def slow(start: Start, tmp_path: pathlib.Path) -> Callable[..., Sidecar]:
    """Starts a sidecar whose recorded judge takes its time for the trace `t1`."""

    def begin(latency_ms: int, server: str = "", limits: str = "") -> Sidecar:
        row = {
            "trace_id": "t1",
            "judge_id": "slow",
            "decision": {
                "id": "judge-cascade.rag.without-reference",
                "version": "2",
                "variant": "without_reference",
            },
            "answers": {
                "chunk_relevance": {"c1": 0.97},
                "context_sufficiency": 0.95,
                "context_conflict": 0.05,
                "answer_relevance": 0.95,
                "groundedness": 0.95,
                "contradiction": 0.05,
            },
            "latency_ms": latency_ms,
        }
        (tmp_path / "slow.jsonl").write_text(json.dumps(row))
        config = tmp_path / "slow.toml"
        config.write_text(
            f"[server]\n{server}\n[limits]\n{limits}\n"
            "[time]\ndeadline_ms = 600000\natomic_timeout_ms = 600000\n"
            "[judges.slow]\ntype = 'replay'\nfile = 'slow.jsonl'\nmatch = 'trace_id'\nsimulate_latency = true\n"
            "[profiles.default]\natomic = 'slow'\npolicy = 'parity-v1'\n[profiles.plain]\n"
        )
        return start("--config", str(config))

    return begin
