"""Both clients against the real program."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pathlib
import re
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import FACT, GUARD, QUOTED, Sidecar, Start, eventually

from judge_cascade_client import (
    Action,
    AsyncClient,
    CalibrationState,
    Chunk,
    Client,
    ClientClosed,
    Diagnosis,
    Dimension,
    InvalidTrace,
    Judged,
    NotApplicable,
    NotApplicableReason,
    NotAssessableReason,
    NoVerdict,
    NoVerdictReason,
    Result,
    Retrieval,
    Role,
    Route,
    Rule,
    Scope,
    Trace,
    Turn,
    Verdict,
)

IN_FLIGHT = "judge_cascade_inflight_traces"


def verdict(result: Result) -> Verdict:
    assert isinstance(result, Verdict), result
    return result


def no_verdict(result: Result) -> NoVerdict:
    assert isinstance(result, NoVerdict), result
    return result


def diagnose_async(client: AsyncClient, trace: Trace, **how: float | str) -> Result:
    async def run() -> Result:
        async with client:
            return await client.diagnose(trace, **how)  # type: ignore[arg-type]

    return asyncio.run(run())


def check_pass(result: Result) -> None:
    found = verdict(result)
    assert found.trace_id == "t1"
    assert found.diagnosis is Diagnosis.PASS and found.is_pass
    assert found.action is Action.ALLOW and found.route is Route.AUTO
    assert found.pass_covers == (Dimension.GROUNDEDNESS,)
    assert found.fired_rule is not None and found.fired_rule.rule is Rule.PASS
    assert found.provenance is not None
    assert found.provenance.calibration_state is CalibrationState.UNCALIBRATED
    assert found.atomic is not None and found.fallback is None
    assert isinstance(found.atomic.groundedness, Judged) and found.atomic.groundedness.probability > 0.5
    assert found.atomic.correctness == NotApplicable(NotApplicableReason.NO_REFERENCE)
    [(chunk_id, relevance)] = found.atomic.chunk_relevance
    assert chunk_id == "c1" and isinstance(relevance, Judged)
    assert [call.judge_id for call in found.judge_calls] == ["embedded"]
    assert found.timing is not None and found.timing.total >= found.timing.overhead
    assert found.not_assessable_reason is None and found.fallback_unavailable_reason is None
    assert hash(found) == hash(dataclasses.replace(found))


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_both_clients_get_a_typed_verdict(start: Start, tmp_path: pathlib.Path, transport: str) -> None:
    sidecar = start() if transport == "tcp" else start("--uds", str(tmp_path / "jc.sock"))
    with Client(sidecar.endpoint) as client:
        check_pass(client.diagnose(QUOTED))
        check_pass(client.diagnose(QUOTED, profile="default"))
    check_pass(diagnose_async(AsyncClient(sidecar.endpoint), QUOTED))
    assert sidecar.stop() == 0


def test_everything_of_a_trace_arrives(start: Start) -> None:
    with Client(start().endpoint) as client:
        full = Trace(
            question="And on Sundays?",
            chunks=[Chunk("c1", FACT, document_id="pool.md", retrieval_score=0.0), Chunk("c2", "")],
            answer=FACT,
            reference_answer="At nine.",
            history=[Turn(Role.USER, "When does the pool open?"), Turn(Role.ASSISTANT, "At eight.")],
            standalone_question="When does the public pool open on Sundays?",
            retrieval=Retrieval.PERFORMED,
            tags=["pool"],
            generator_model="a-model",
            language="en",
            statements=[FACT],
        )
        found = verdict(client.diagnose(full, include_statements=True, skip_cache=True))
        assert found.trace_id
        assert found.atomic is not None and [row.text for row in found.atomic.statements] == [FACT]
        summary = found.atomic.statement_summary
        assert summary is not None and (summary.decided_count, summary.undecidable_count) == (1, 0)
        assert summary.mean_groundedness is not None and summary.failed_count == 0
        assert found.atomic.chunk_relevance[1] == ("c2", NotApplicable(NotApplicableReason.NO_CONTEXT))
        texts = verdict(client.diagnose(Trace(question="When?", chunks=[FACT, FACT], answer="At nine.")))
        assert texts.atomic is not None and [row[0] for row in texts.atomic.chunk_relevance] == ["1", "2"]
        retrieval = verdict(client.diagnose(QUOTED, scope=Scope.RETRIEVAL))
        assert retrieval.atomic is not None
        assert retrieval.atomic.groundedness == NotApplicable(NotApplicableReason.OUT_OF_SCOPE)
        greeting = Trace(question="hi", chunks=[], answer="Hello!", retrieval=Retrieval.NOT_PERFORMED)
        unassessed = verdict(client.diagnose(greeting))
        assert unassessed.diagnosis is Diagnosis.NOT_ASSESSABLE
        assert unassessed.not_assessable_reason is NotAssessableReason.RETRIEVAL_NOT_PERFORMED
        assert unassessed.confidence is None and unassessed.atomic is None


def test_a_bad_request_is_raised_with_every_violation(start: Start) -> None:
    endpoint = start().endpoint
    bad = Trace(question=" ", chunks=[Chunk("c1", "a"), Chunk("c1", "b")], answer="x")
    for run in (Client(endpoint).diagnose, lambda trace: diagnose_async(AsyncClient(endpoint), trace)):
        with pytest.raises(InvalidTrace) as raised:
            run(bad)
        assert raised.value.reason == "INVALID_TRACE"
        found = {(violation.field, violation.reason) for violation in raised.value.violations}
        assert found == {("trace.question", "REQUIRED"), ("trace.chunks[1].chunk_id", "DUPLICATE")}
    with Client(endpoint) as client:
        with pytest.raises(InvalidTrace) as unknown:
            client.diagnose(QUOTED, profile="nobody", request_id="call-7")
        assert (unknown.value.reason, unknown.value.request_id) == ("UNKNOWN_PROFILE", "call-7")
        with pytest.raises(InvalidTrace):
            client.diagnose(dataclasses.replace(QUOTED, answer="x" * (5 << 20)))
        with pytest.raises(InvalidTrace):
            client.diagnose(dataclasses.replace(QUOTED, answer="\ud800"))
        check_pass(client.diagnose(QUOTED))


def test_a_sidecar_that_is_away_is_no_verdict_and_is_found_when_it_comes(start: Start) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{held.getsockname()[1]}"
        with Client(endpoint, no_verdict_action=Action.WARN) as client:
            away = no_verdict(client.diagnose(QUOTED))
        assert away.reason is NoVerdictReason.UNAVAILABLE and away.retryable and not away.is_pass
        assert away.action is Action.WARN
        assert no_verdict(diagnose_async(AsyncClient(endpoint), QUOTED)).action is Action.ALLOW
    client = Client(endpoint)
    assert no_verdict(client.diagnose(QUOTED)).reason is NoVerdictReason.UNAVAILABLE
    start("--listen", endpoint)
    eventually(lambda: isinstance(client.diagnose(QUOTED), Verdict))
    client.close()


def test_a_deadline_is_no_verdict(slow: Callable[..., Sidecar]) -> None:
    sidecar = slow(600_000)
    with Client(sidecar.endpoint, retries=5) as client:
        late = no_verdict(client.diagnose(QUOTED, timeout=0.3))
    assert late.reason is NoVerdictReason.DEADLINE and not late.retryable
    late = no_verdict(diagnose_async(AsyncClient(sidecar.endpoint, timeout=0.3), QUOTED))
    assert late.reason is NoVerdictReason.DEADLINE
    # The server has ended the calls too: nothing goes on without its caller.
    eventually(lambda: sidecar.series(IN_FLIGHT) == 0)


def test_a_full_sidecar_is_no_verdict_unless_there_is_time_to_come_again(slow: Callable[..., Sidecar]) -> None:
    sidecar = slow(1_500, limits="max_in_flight_traces = 1")
    with Client(sidecar.endpoint, timeout=GUARD) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(client.diagnose, QUOTED)
        sidecar.reaches(IN_FLIGHT, 1)
        full = no_verdict(client.diagnose(QUOTED))
        assert full.reason is NoVerdictReason.OVERLOADED and full.retryable
        with Client(sidecar.endpoint, timeout=GUARD, retries=100) as patient:
            assert verdict(patient.diagnose(QUOTED)).is_pass
        assert verdict(first.result()).is_pass
    shed = sidecar.series('judge_cascade_shed_total{reason="overloaded"}')
    assert 2 <= shed <= 100


def test_a_draining_sidecar_ends_what_it_has_begun_and_takes_no_more(slow: Callable[..., Sidecar]) -> None:
    sidecar = slow(1_500, server="shutdown_grace_ms = 600000")
    with Client(sidecar.endpoint, timeout=GUARD) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(client.diagnose, QUOTED)
        sidecar.reaches(IN_FLIGHT, 1)
        sidecar.process.send_signal(signal.SIGTERM)
        refused: list[NoVerdict] = []

        def is_refused() -> bool:
            result = client.diagnose(dataclasses.replace(QUOTED, trace_id="other"))
            refused.extend([result] if isinstance(result, NoVerdict) else [])
            return bool(refused)

        eventually(is_refused)
        # The server says so, or the connection is gone already.
        assert refused[0].reason in {NoVerdictReason.SHUTTING_DOWN, NoVerdictReason.UNAVAILABLE}
        assert refused[0].retryable
        assert verdict(first.result()).is_pass
    assert sidecar.process.wait(GUARD) == 0


def test_many_threads_share_a_client(start: Start) -> None:
    sidecar = start()
    with Client(sidecar.endpoint, timeout=GUARD) as client, ThreadPoolExecutor(16) as pool:
        traces = [dataclasses.replace(QUOTED, trace_id=f"t{n}") for n in range(200)]
        found = [verdict(result) for result in pool.map(client.diagnose, traces)]
    assert [result.trace_id for result in found] == [trace.trace_id for trace in traces]
    assert sidecar.series("judge_cascade_open_connections") <= 1


def test_many_tasks_and_several_loops_share_a_client(start: Start) -> None:
    client = AsyncClient(start().endpoint, timeout=GUARD)

    async def many() -> list[Result]:
        traces = [dataclasses.replace(QUOTED, trace_id=f"t{n}") for n in range(50)]
        return list(await asyncio.gather(*(client.diagnose(trace) for trace in traces)))

    for _ in range(3):
        assert all(result.is_pass for result in asyncio.run(many()))
    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)
        assert not thread.is_alive()
    asyncio.run(client.close())


def test_a_cancelled_task_cancels_its_call(slow: Callable[..., Sidecar]) -> None:
    sidecar = slow(600_000)

    async def run() -> None:
        async with AsyncClient(sidecar.endpoint, timeout=GUARD) as client:
            task = asyncio.create_task(client.diagnose(QUOTED))
            await asyncio.to_thread(sidecar.reaches, IN_FLIGHT, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    eventually(lambda: sidecar.series(IN_FLIGHT) == 0)


def test_a_closed_client_is_a_mistake_of_the_program(start: Start) -> None:
    endpoint = start().endpoint
    client = Client(endpoint)
    check_pass(client.diagnose(QUOTED))
    client.close()
    client.close()
    with pytest.raises(ClientClosed):
        client.diagnose(QUOTED)
    closed = AsyncClient(endpoint)
    check_pass(diagnose_async(closed, QUOTED))
    with pytest.raises(ClientClosed):
        diagnose_async(closed, QUOTED)


def test_the_request_id_ties_a_result_to_the_log(start: Start) -> None:
    with Client(start().endpoint) as client:
        assert client.diagnose(QUOTED, request_id="call-7").request_id == "call-7"
        made = {client.diagnose(QUOTED).request_id for _ in range(3)}
        assert len(made) == 3 and all(made)


@pytest.mark.parametrize("endpoint", ["localhost", "http://localhost:50051", "/run/jc.sock"])
def test_what_is_no_endpoint_is_told_at_once(endpoint: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="is not an endpoint"):
            kind(endpoint)


def test_numbers_that_make_no_sense_are_refused() -> None:
    for timeout in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="time-out"):
            Client(timeout=timeout)
        with pytest.raises(ValueError, match="time-out"):
            Client().diagnose(QUOTED, timeout=timeout)
    with pytest.raises(ValueError, match="retries"):
        Client(retries=-1)
    with pytest.raises(ValueError, match="not an action"):
        Client(no_verdict_action=Action.UNKNOWN)


def test_http_tells_the_same_with_nothing_but_the_standard_library(start: Start) -> None:
    sidecar = start()

    def post(body: object) -> tuple[int, dict[str, object]]:
        data = json.dumps(body).encode()
        headers = {"content-type": "application/json", "x-timeout-ms": "3000"}
        request = urllib.request.Request(f"http://{sidecar.http}/v1/diagnose", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=GUARD) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    trace: dict[str, object] = {
        "traceId": "t1",
        "question": QUOTED.question,
        "chunks": [{"chunkId": "c1", "text": FACT}],
        "answer": FACT,
    }
    status, body = post({"trace": trace})
    with Client(sidecar.endpoint) as client:
        over_grpc = verdict(client.diagnose(QUOTED))
    assert status == 200
    assert body["diagnosis"] == f"DIAGNOSIS_{over_grpc.diagnosis.value}"
    assert body["confidence"] == over_grpc.confidence
    assert body["action"] == "ACTION_ALLOW"
    status, problem = post({"trace": trace | {"question": " ", "colour": "red"}})
    assert (status, problem["reason"]) == (400, "INVALID_TRACE")
    assert re.search("trace.colour", json.dumps(problem["violations"]))
