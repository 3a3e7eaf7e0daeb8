"""Forks, each in a process of its own: gRPC is loaded once for a process, with or without support for them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import GUARD, Sidecar, Start

PROGRAM = """
import asyncio, os, sys, threading, time
from judge_cascade_client import AsyncClient, Chunk, Client, Trace

text = "On Sundays the public pool opens at nine in the morning."
question = "When does the public pool open on Sundays?"
trace = Trace(question=question, chunks=[text], answer=text)
slow = Trace(trace_id="t1", question=question, chunks=[Chunk("c1", text)], answer=text)
client, other = Client(sys.argv[1]), AsyncClient(sys.argv[1])

def show(who, result):
    print(who, "PASS" if result.is_pass else getattr(result, "reason", None) or result.diagnosis, flush=True)

def call():
    show("sync", client.diagnose(trace, profile=sys.argv[2]))

def call_async():
    show("async", asyncio.run(other.diagnose(trace, profile=sys.argv[2])))

{before}
child = os.fork()
if child == 0:
    call()
    call_async()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
call()
os._exit(0)
"""

PASSED = ["sync PASS", "async PASS", "sync PASS"]
FORKED = ["sync NoVerdictReason.FORKED", "async NoVerdictReason.FORKED", "sync PASS"]


def run(endpoint: str, before: str = "", *, profile: str = "default", **grpc_environment: str) -> list[str]:
    """What the parent prints first, then the child, then the parent again."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before), endpoint, profile],
        capture_output=True,
        text=True,
        timeout=GUARD,
        env=environment | grpc_environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_client_that_was_not_used_yet_works_in_parent_and_child(
    start: Start, tmp_path: pathlib.Path, transport: str
) -> None:
    sidecar = start() if transport == "tcp" else start("--uds", str(tmp_path / "jc.sock"))
    assert run(sidecar.endpoint) == PASSED
    assert run(sidecar.endpoint, GRPC_ENABLE_FORK_SUPPORT="1") == PASSED


def test_a_client_that_was_used_works_in_the_child_if_grpc_supports_forks(start: Start) -> None:
    endpoint = start().endpoint
    once = "async def once():\n    async with AsyncClient(sys.argv[1]) as one:\n        await one.diagnose(trace)\n"
    for before in ("client.diagnose(trace)", f"{once}asyncio.run(once())"):
        assert run(endpoint, before, GRPC_ENABLE_FORK_SUPPORT="1") == PASSED, before


def test_a_client_that_was_used_gives_no_verdict_in_the_child_and_goes_on_in_the_parent(
    slow: Callable[..., Sidecar],
) -> None:
    endpoint = slow(600_000).endpoint
    in_a_loop = "loop = asyncio.new_event_loop()\nloop.run_until_complete(other.diagnose(trace))"
    in_flight = (
        "from judge_cascade_client._channel import PROCESS\n"
        "threading.Thread(target=client.diagnose, args=(slow,), daemon=True).start()\n"
        "while not PROCESS._calling: time.sleep(0.01)"
    )
    for before in ("client.diagnose(trace)", in_a_loop, in_flight):
        assert run(endpoint, before, profile="plain") == FORKED, before
    assert run(endpoint, in_a_loop, profile="plain", GRPC_ENABLE_FORK_SUPPORT="1") == FORKED
