"""Asks a running judge-cascade for the diagnosis of one trace.

Usage: python diagnose.py [ENDPOINT], where ENDPOINT is host:port or unix:PATH.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "generated"))

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
from judgecascade.v1 import diagnosis_service_pb2 as api
from judgecascade.v1 import diagnosis_service_pb2_grpc as stubs
from judgecascade.v1 import judgment_pb2 as judgment
from judgecascade.v1 import trace_pb2 as traces

SERVICE = "judgecascade.v1.DiagnosisService"
DEADLINE_SECONDS = 3.0
# The sidecar is away, full or slow: there is no verdict, which says nothing about the answer.
NO_VERDICT = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}

TRACE = traces.Trace(
    question="When does the public pool open on Sundays?",
    chunks=[
        traces.Chunk(chunk_id="c1", text="On Sundays the public pool opens at nine in the morning."),
        traces.Chunk(chunk_id="c2", text="The library lends books for three weeks."),
    ],
    answer="On Sundays the public pool opens at nine in the morning.",
)


def connect(endpoint):
    # For a Unix socket grpcio would send the path as the authority, percent-encoded, which servers in Rust refuse.
    return grpc.insecure_channel(endpoint, options=[("grpc.default_authority", "localhost")])


def diagnose(channel, trace):
    request = api.DiagnoseRequest(trace=trace)
    return stubs.DiagnosisServiceStub(channel).Diagnose(request, timeout=DEADLINE_SECONDS)


def violations(error):
    """What is wrong with the request, field by field."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        bad = error_details_pb2.BadRequest()
        if detail.Unpack(bad):
            yield from bad.field_violations


def show(response):
    # A value that this client does not know prints as its number and is never read as a pass.
    fired = response.fired_rule
    print(f"trace      {response.trace_id}")
    print(f"diagnosis  {name(judgment.Diagnosis, response.diagnosis)}")
    print(f"route      {name(api.Route, response.route)}")
    print(f"rule       {name(api.Rule, fired.rule)}", end="")
    if fired.HasField("value") and fired.HasField("threshold"):
        dimension = name(judgment.Dimension, fired.dimension)
        print(f" by {dimension} = {fired.value:.2f} against {fired.threshold:.2f}", end="")
    print(f"\naction     {name(api.Action, response.action)}")


def name(enum, number):
    return enum.Name(number) if number in enum.values() else str(number)


def main():
    endpoint = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
    try:
        with connect(endpoint) as channel:
            request = health_pb2.HealthCheckRequest(service=SERVICE)
            answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=1.0)
            print(f"health     {name(health_pb2.HealthCheckResponse.ServingStatus, answer.status)}")
            print(f"services   {', '.join(ProtoReflectionDescriptorDatabase(channel).get_services())}")
            show(diagnose(channel, TRACE))
    except grpc.RpcError as error:
        if error.code() in NO_VERDICT:
            print(f"no verdict: {error.code().name}: {error.details()}")
            return
        for violation in violations(error):
            print(f"{violation.field}: {violation.reason}: {violation.description}")
        sys.exit(f"error: {error.code().name}: {error.details()}")


if __name__ == "__main__":
    main()
