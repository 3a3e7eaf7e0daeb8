"""R14: what is missing or not known is never read as a pass.

A server of this test answers what no present server does.
"""

from __future__ import annotations

import asyncio
import pathlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Any

import grpc
import pytest
from judgecascade.v1 import diagnosis_service_pb2 as api
from judgecascade.v1 import judgment_pb2 as judgments
from judgecascade.v1 import trace_pb2 as traces

import judge_cascade_client
from conftest import QUOTED
from judge_cascade_client import (
    Action,
    AsyncClient,
    Client,
    Diagnosis,
    Dimension,
    FallbackMode,
    NoVerdict,
    NoVerdictReason,
    Result,
    Route,
    Rule,
    Verdict,
)

Ask = Callable[[api.DiagnoseResponse | bytes], list[Result]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Has both clients ask a server that gives this response."""
    given: list[bytes] = []

    def answer(_request: bytes, _context: object) -> bytes:
        return given[0]

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        method: Any = grpc.unary_unary_rpc_method_handler(answer)
        handlers = grpc.method_handlers_generic_handler("judgecascade.v1.DiagnosisService", {"Diagnose": method})
        server.add_generic_rpc_handlers((handlers,))
        endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()

        def both(response: api.DiagnoseResponse | bytes) -> list[Result]:
            given[:] = [response if isinstance(response, bytes) else response.SerializeToString()]

            async def diagnose() -> Result:
                async with AsyncClient(endpoint, no_verdict_action=Action.WARN) as client:
                    return await client.diagnose(QUOTED)

            with Client(endpoint, no_verdict_action=Action.WARN) as client:
                return [client.diagnose(QUOTED), asyncio.run(diagnose())]

        yield both
        server.stop(None).wait()


def response(diagnosis: int, action: int) -> api.DiagnoseResponse:
    """A response with numbers that need not be known."""
    message = api.DiagnoseResponse(trace_id="t1")
    message.diagnosis = diagnosis  # type: ignore[assignment]
    message.action = action  # type: ignore[assignment]
    return message


def test_r14_a_response_without_a_diagnosis_or_an_action_is_no_verdict(ask: Ask) -> None:
    passed, allowed = judgments.DIAGNOSIS_PASS, api.ACTION_ALLOW
    for message in (
        api.DiagnoseResponse(),
        response(0, allowed),
        response(passed, 0),
        response(passed, 77),
        response(0, 0),
    ):
        for result in ask(message):
            assert isinstance(result, NoVerdict), result
            assert result.reason is NoVerdictReason.UNREADABLE and not result.retryable
            assert result.action is Action.WARN
            assert bool(result.is_pass) is False


def test_r14_a_diagnosis_that_is_not_known_is_not_a_pass(ask: Ask) -> None:
    message = response(77, api.ACTION_BLOCK)
    message.route = 77  # type: ignore[assignment]
    message.fired_rule.rule = 77  # type: ignore[assignment]
    message.pass_covers.append(77)  # type: ignore[arg-type]
    message.fired_rule.blocking_dimensions.append(77)  # type: ignore[arg-type]
    for result in ask(message):
        assert isinstance(result, Verdict), result
        assert result.diagnosis is Diagnosis.UNKNOWN and not result.is_pass
        assert result.action is Action.BLOCK
        assert result.route is Route.UNKNOWN
        assert result.pass_covers == ()
        assert result.fired_rule is not None and result.fired_rule.rule is Rule.UNKNOWN
        assert result.fired_rule.blocking_dimensions == (Dimension.UNKNOWN,)


def test_r14_what_is_unset_is_none_and_not_zero(ask: Ask) -> None:
    message = response(judgments.DIAGNOSIS_JUDGE_UNCERTAIN, api.ACTION_ALLOW)
    message.atomic.generation.groundedness.judge_id = "odd"
    message.judge_calls.add(judge_id="j")
    message.cost.atomic_nano_usd = 0
    for result in ask(message):
        assert isinstance(result, Verdict), result
        assert result.confidence is None and result.answer_abstains is None and result.would_action is None
        assert result.fired_rule is None and result.provenance is None and result.timing is None
        assert result.atomic is not None
        # A judgment without an outcome, or with one of a kind that is not known.
        assert result.atomic.groundedness is None and result.atomic.contradiction is None
        assert result.judge_calls[0].usage is None and result.judge_calls[0].cost_nano_usd is None
        assert result.cost is not None
        assert (result.cost.atomic_nano_usd, result.cost.total_nano_usd) == (0, None)


def test_a_message_that_cannot_be_read_is_no_verdict(ask: Ask) -> None:
    for result in ask(b"\xff\xff\xff\xff"):
        assert isinstance(result, NoVerdict) and result.reason is NoVerdictReason.UNREADABLE


def test_a_server_without_the_method_is_no_verdict() -> None:
    with ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool)
        endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        with Client(endpoint) as client:
            result = client.diagnose(QUOTED)
        server.stop(None).wait()
    assert isinstance(result, NoVerdict) and result.reason is NoVerdictReason.ERROR


@pytest.mark.parametrize(
    ("wrapper", "ours", "withheld"),
    [
        (judgments.Diagnosis, judge_cascade_client.Diagnosis, set()),
        (judgments.Dimension, judge_cascade_client.Dimension, set()),
        (judgments.Band, judge_cascade_client.Band, set()),
        (judgments.FailureReason, judge_cascade_client.FailureReason, set()),
        (judgments.NotApplicableReason, judge_cascade_client.NotApplicableReason, set()),
        (api.Action, judge_cascade_client.Action, set()),
        (api.Route, judge_cascade_client.Route, set()),
        (api.Rule, judge_cascade_client.Rule, set()),
        (api.FallbackUnavailableReason, judge_cascade_client.FallbackUnavailableReason, set()),
        (api.NotAssessableReason, judge_cascade_client.NotAssessableReason, set()),
        (api.CalibrationState, judge_cascade_client.CalibrationState, set()),
        (api.JudgeRole, judge_cascade_client.JudgeRole, set()),
        (api.DiagnoseScope, judge_cascade_client.Scope, set()),
        # No server offers it.
        (api.FallbackMode, FallbackMode, {"DEFERRED"}),
        (traces.RetrievalState, judge_cascade_client.Retrieval, set()),
        (traces.TurnRole, judge_cascade_client.Role, set()),
    ],
)
def test_the_names_are_those_of_the_api(wrapper: object, ours: type[Enum], withheld: set[str]) -> None:
    names: list[str] = wrapper.keys()  # type: ignore[attr-defined]
    prefix = names[0].removesuffix("UNSPECIFIED")
    expected = {name.removeprefix(prefix) for name in names} - {"UNSPECIFIED"} - withheld
    assert set(ours.__members__) - {"UNKNOWN"} == expected
    assert all(member.value == name for name, member in ours.__members__.items())


def test_the_readme_names_the_reasons_that_exist() -> None:
    readme = (pathlib.Path(__file__).resolve().parent.parent / "README.md").read_text()
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", readme, re.MULTILINE))
    assert named == {reason.name for reason in NoVerdictReason}
