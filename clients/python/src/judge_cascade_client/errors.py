"""What is an exception: a request that the server refuses whenever it is sent, and the use of a closed client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a field of a request."""

    field: str
    """Its path, such as `trace.chunks[1].chunk_id`."""
    reason: str
    """The kind of violation, such as `DUPLICATE`."""
    description: str
    """What is wrong, in words; never the text of a trace."""


class InvalidTrace(ValueError):
    """The server refuses the request; it is a mistake of the program and not of the answer."""

    def __init__(self, detail: str, reason: str, violations: Sequence[Violation], request_id: str) -> None:
        super().__init__(detail)
        self.reason = reason
        """The reason as the server names it, such as `INVALID_TRACE` or `UNKNOWN_PROFILE`; empty if it names none."""
        self.violations = tuple(violations)
        """Every violation, field by field."""
        self.request_id = request_id
        """The id of the call in the log of the server."""


class ClientClosed(RuntimeError):
    """The client was closed before the call."""
