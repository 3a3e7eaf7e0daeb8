"""What a failed call means: a mistake of the program, or no verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from .enums import Action
from .errors import InvalidTrace, Violation
from .results import NoVerdict, NoVerdictReason

DOMAIN = "judge-cascade"
_DETAILS = "grpc-status-details-bin"

_RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
_BY_REASON = {
    "OVERLOADED": NoVerdictReason.OVERLOADED,
    "SHUTTING_DOWN": NoVerdictReason.SHUTTING_DOWN,
    "JUDGE_UNAVAILABLE": NoVerdictReason.JUDGE_UNAVAILABLE,
    "DEADLINE_TOO_SHORT": NoVerdictReason.DEADLINE,
    "UNAUTHENTICATED": NoVerdictReason.UNAUTHENTICATED,
}
_BY_CODE = {
    grpc.StatusCode.UNAVAILABLE: NoVerdictReason.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: NoVerdictReason.OVERLOADED,
    grpc.StatusCode.DEADLINE_EXCEEDED: NoVerdictReason.DEADLINE,
    grpc.StatusCode.UNAUTHENTICATED: NoVerdictReason.UNAUTHENTICATED,
}

Metadata = Iterable[tuple[str, str | bytes]] | None


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call failed."""

    code: grpc.StatusCode
    detail: str
    trailing: Metadata

    @staticmethod
    def of(error: grpc.RpcError) -> Failure:
        """How a call failed, of either kind of client; both have these methods and no common type that says so."""
        call = cast(grpc.Call, error)
        return Failure(call.code(), call.details() or "", call.trailing_metadata())

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed soon."""
        return self.code in _RETRYABLE


def no_verdict(failure: Failure, action: Action, request_id: str) -> NoVerdict:
    """What a failed call means; a request that can never succeed is raised as `InvalidTrace`."""
    reason, violations = _read(failure)
    if failure.code in {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE}:
        raise InvalidTrace(failure.detail, reason, violations, request_id)
    return NoVerdict(
        reason=_BY_REASON.get(reason) or _BY_CODE.get(failure.code) or NoVerdictReason.ERROR,
        detail=f"{failure.code.name}: {failure.detail}",
        retryable=failure.is_retryable,
        action=action,
        request_id=request_id,
    )


def _read(failure: Failure) -> tuple[str, list[Violation]]:
    """The reason and the violations in the details of a status."""
    reason, violations = "", []
    for detail in _details(failure.trailing).details:
        info, bad = ErrorInfo(), BadRequest()
        if detail.Unpack(info) and info.domain == DOMAIN:
            reason = info.reason
        elif detail.Unpack(bad):
            violations += [
                Violation(violation.field, violation.reason, violation.description)
                for violation in bad.field_violations
            ]
    return reason, violations


def _details(trailing: Metadata) -> Status:
    status = Status()
    for key, value in trailing or ():
        if key == _DETAILS and isinstance(value, bytes):
            try:
                status.ParseFromString(value)
            except DecodeError:
                return Status()
    return status
