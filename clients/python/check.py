"""Checks the whole public API of a running judge-cascade with the default configuration, as CI does.

It uses the generated messages alone, which come with judge-cascade-client, and nothing of the client itself.

Usage: python check.py --endpoint ENDPOINT, where ENDPOINT is host:port or unix:PATH.
"""

import argparse
import asyncio
import sys

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
from judgecascade.v1 import diagnosis_service_pb2 as api
from judgecascade.v1 import diagnosis_service_pb2_grpc as stubs
from judgecascade.v1 import judgment_pb2 as judgment
from judgecascade.v1 import trace_pb2 as traces

SERVICE = "judgecascade.v1.DiagnosisService"
ERROR_DOMAIN = "judge-cascade"
# Ten times what a call may take on a slow machine; no check waits for it.
TIMEOUT_SECONDS = 30.0
CONCURRENT_CALLS = 200
# The server takes 4 MiB by default.
OVERSIZE_BYTES = 5 * 1024 * 1024

# Over a Unix socket grpcio would send the path as the authority, percent-encoded, which servers in Rust refuse.
OPTIONS = [("grpc.default_authority", "localhost")]

FACT = "On Sundays the public pool of Brackenford opens at nine in the morning."
QUESTION = "When does the public pool of Brackenford open on Sundays?"


def trace(**changes):
    fields = {
        "trace_id": "check",
        "question": QUESTION,
        "chunks": [traces.Chunk(chunk_id="c1", text=FACT)],
        "answer": FACT,
    }
    return traces.Trace(**(fields | changes))


def diagnose(channel, of, **changes):
    request = api.DiagnoseRequest(trace=of, **changes)
    return stubs.DiagnosisServiceStub(channel).Diagnose(request, timeout=TIMEOUT_SECONDS)


def equal(actual, expected):
    assert actual == expected, f"{actual!r} is not {expected!r}"


def refused(code, call):
    """The error of a call that must fail with this code."""
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()} is not {code}: {error.details()}"
        return error
    raise AssertionError(f"the call succeeded instead of {code}")


def details(error):
    """The one ErrorInfo and the field violations of an error."""
    infos, fields = [], []
    for detail in rpc_status.from_call(error).details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            infos.append(info)
        elif detail.Unpack(bad):
            fields.extend((violation.field, violation.reason) for violation in bad.field_violations)
    equal(len(infos), 1)
    equal(infos[0].domain, ERROR_DOMAIN)
    return infos[0], fields


def check_health(channel):
    for service in ["", SERVICE]:
        request = health_pb2.HealthCheckRequest(service=service)
        answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=TIMEOUT_SECONDS)
        equal(answer.status, health_pb2.HealthCheckResponse.SERVING)
    request = health_pb2.HealthCheckRequest(service="no.such.Service")
    health = health_pb2_grpc.HealthStub(channel)
    refused(grpc.StatusCode.NOT_FOUND, lambda: health.Check(request, timeout=TIMEOUT_SECONDS))


def check_reflection(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    assert SERVICE in database.get_services(), database.get_services()
    service = DescriptorPool(database).FindServiceByName(SERVICE)
    equal({method.name for method in service.methods}, {"Diagnose", "GetPolicy"})


def check_pass(channel):
    response = diagnose(channel, trace())
    equal(response.trace_id, "check")
    equal(response.diagnosis, judgment.DIAGNOSIS_PASS)
    equal(response.route, api.ROUTE_AUTO)
    equal(response.fired_rule.rule, api.RULE_PASS)
    equal(response.action, api.ACTION_ALLOW)
    assert judgment.DIMENSION_GROUNDEDNESS in response.pass_covers, response.pass_covers
    equal(response.provenance.calibration_state, api.CALIBRATION_STATE_UNCALIBRATED)
    equal([call.judge_id for call in response.judge_calls], ["embedded"])
    assert not response.HasField("fallback"), response.fallback


def check_retrieval_miss(channel):
    chunks = [
        traces.Chunk(chunk_id="c1", text="Sow carrots in rows from March to July and cover them with fine soil."),
        traces.Chunk(chunk_id="c2", text="The mower needs fresh oil after fifty hours of work."),
    ]
    response = diagnose(channel, trace(chunks=chunks))
    equal(response.diagnosis, judgment.DIAGNOSIS_RETRIEVAL_MISS)
    equal(response.fired_rule.rule, api.RULE_RETRIEVAL_MISS)
    equal(list(response.pass_covers), [])


def check_not_assessable(channel):
    greeting = traces.Trace(question="hi", answer="Hello!", retrieval=traces.RETRIEVAL_STATE_NOT_PERFORMED)
    response = diagnose(channel, greeting)
    equal(response.diagnosis, judgment.DIAGNOSIS_NOT_ASSESSABLE)
    equal(response.not_assessable_reason, api.NOT_ASSESSABLE_REASON_RETRIEVAL_NOT_PERFORMED)
    equal(len(response.judge_calls), 0)
    assert response.trace_id, "the server makes an id"
    assert not response.HasField("confidence") and not response.HasField("atomic"), response


def check_invalid_trace(channel):
    chunks = [traces.Chunk(chunk_id="c1", text=FACT), traces.Chunk(chunk_id="c1", text=FACT)]
    bad = trace(question=" ", chunks=chunks)
    error = refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: diagnose(channel, bad))
    info, fields = details(error)
    equal(info.reason, "INVALID_TRACE")
    equal(sorted(fields), [("trace.chunks[1].chunk_id", "DUPLICATE"), ("trace.question", "REQUIRED")])
    unset = refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: diagnose(channel, None))
    equal(details(unset)[1], [("trace", "REQUIRED")])


def check_unknown_profile(channel):
    error = refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: diagnose(channel, trace(), profile="no-such"))
    info, fields = details(error)
    equal(info.reason, "UNKNOWN_PROFILE")
    equal(info.metadata["profile"], "no-such")
    equal(fields, [("profile", "UNKNOWN_PROFILE")])


def check_deferred_is_refused(channel):
    deferred = api.FALLBACK_MODE_DEFERRED
    call = lambda: diagnose(channel, trace(), fallback_mode=deferred)
    equal(details(refused(grpc.StatusCode.INVALID_ARGUMENT, call))[1], [("fallback_mode", "NOT_OFFERED")])


def check_short_deadline(channel):
    request = api.DiagnoseRequest(trace=trace())
    for _ in range(20):
        try:
            stubs.DiagnosisServiceStub(channel).Diagnose(request, timeout=0.001)
        except grpc.RpcError as error:
            equal(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)


def check_get_policy(channel):
    stub = stubs.DiagnosisServiceStub(channel)
    response = stub.GetPolicy(api.GetPolicyRequest(), timeout=TIMEOUT_SECONDS)
    equal(response.profile, "default")
    equal(len(response.policy.sha256), 64)
    equal({policy.dimension for policy in response.policy.dimensions}, set(judgment.Dimension.values()) - {0})
    equal([judge.judge_id for judge in response.judges], ["embedded"])
    unknown = api.GetPolicyRequest(profile="no-such")
    call = lambda: stub.GetPolicy(unknown, timeout=TIMEOUT_SECONDS)
    details(refused(grpc.StatusCode.INVALID_ARGUMENT, call))


def check_request_id(channel):
    request = api.DiagnoseRequest(trace=trace())
    method = stubs.DiagnosisServiceStub(channel).Diagnose
    for given in [[("x-request-id", "check-42")], []]:
        _, call = method.with_call(request, timeout=TIMEOUT_SECONDS, metadata=given)
        returned = [value for key, value in call.initial_metadata() if key == "x-request-id"]
        equal(len(returned), 1)
        assert returned[0] == "check-42" if given else returned[0], returned


def check_gzip(channel):
    request = api.DiagnoseRequest(trace=trace(chunks=[traces.Chunk(chunk_id="c1", text=f"{FACT} " * 100)]))
    stub = stubs.DiagnosisServiceStub(channel)
    response = stub.Diagnose(request, timeout=TIMEOUT_SECONDS, compression=grpc.Compression.Gzip)
    assert response.diagnosis != judgment.DIAGNOSIS_UNSPECIFIED, response


def check_oversize(channel):
    states = []
    channel.subscribe(states.append)
    diagnose(channel, trace())
    large = trace(chunks=[traces.Chunk(chunk_id="c1", text="x" * OVERSIZE_BYTES)])
    refused(grpc.StatusCode.OUT_OF_RANGE, lambda: diagnose(channel, large))
    equal(diagnose(channel, trace()).diagnosis, judgment.DIAGNOSIS_PASS)
    channel.unsubscribe(states.append)
    after = states[states.index(grpc.ChannelConnectivity.READY) :]
    equal(after, [grpc.ChannelConnectivity.READY])


def check_unknown_method(channel):
    empty = lambda message: b""
    method = channel.unary_unary(f"/{SERVICE}/NoSuchMethod", request_serializer=empty)
    refused(grpc.StatusCode.UNIMPLEMENTED, lambda: method(None, timeout=TIMEOUT_SECONDS))


async def many(endpoint):
    async with grpc.aio.insecure_channel(endpoint, options=OPTIONS) as channel:
        stub = stubs.DiagnosisServiceStub(channel)
        requests = [api.DiagnoseRequest(trace=trace(trace_id=f"check-{i}")) for i in range(CONCURRENT_CALLS)]
        return await asyncio.gather(*(stub.Diagnose(request, timeout=TIMEOUT_SECONDS) for request in requests))


def check_concurrent_calls(endpoint):
    responses = asyncio.run(many(endpoint))
    equal([response.trace_id for response in responses], [f"check-{i}" for i in range(CONCURRENT_CALLS)])
    equal({response.diagnosis for response in responses}, {judgment.DIAGNOSIS_PASS})


CHECKS = [
    check_health,
    check_reflection,
    check_pass,
    check_retrieval_miss,
    check_not_assessable,
    check_invalid_trace,
    check_unknown_profile,
    check_deferred_is_refused,
    check_short_deadline,
    check_get_policy,
    check_request_id,
    check_gzip,
    check_oversize,
    check_unknown_method,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", required=True, help="host:port or unix:PATH")
    endpoint = parser.parse_args().endpoint
    failed = 0

    def run(check, argument):
        nonlocal failed
        try:
            check(argument)
            print(f"ok      {check.__name__}")
        except (AssertionError, grpc.RpcError, ValueError) as error:
            failed += 1
            print(f"FAILED  {check.__name__}: {error}")

    with grpc.insecure_channel(endpoint, options=OPTIONS) as channel:
        for check in CHECKS:
            run(check, channel)
    run(check_concurrent_calls, endpoint)
    print(f"{endpoint}: {len(CHECKS) + 1 - failed} checks passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
