"""The clients: one that blocks and one for asyncio, with the same calls."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from judgecascade.v1 import diagnosis_service_pb2 as api

from . import _access, _channel, _convert
from ._access import Material, Tls, Token
from ._channel import METHOD, PROCESS
from ._outcome import Failure, no_verdict
from .enums import Action, FallbackMode, Scope
from .errors import ClientClosed
from .results import NoVerdict, NoVerdictReason, Result
from .traces import Trace

DEFAULT_TIMEOUT = 3.0
"""Seconds that a call may take with all its retries, unless it says otherwise."""
ENDPOINT_VARIABLE = "JUDGE_CASCADE_ENDPOINT"
"""The variable that names the endpoint of clients that are not told one."""
DEFAULT_ENDPOINT = "127.0.0.1:50051"
"""The endpoint when nothing names one."""

_FIRST_DELAY = 0.05
_LONGEST_DELAY = 1.0

C = TypeVar("C", grpc.Channel, grpc.aio.Channel)


@dataclass(frozen=True, slots=True)
class _Open(Generic[C]):
    """A channel and its one method."""

    channel: C
    diagnose: Any

    @staticmethod
    def over(channel: C) -> _Open[C]:
        method: Any = channel.unary_unary(
            METHOD,
            request_serializer=api.DiagnoseRequest.SerializeToString,
            # The bytes themselves: what cannot be read is no verdict, and gRPC would raise it.
            response_deserializer=None,
        )
        return _Open(channel, method)


class _Base:
    """What both clients are told, and how a call of theirs goes on."""

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = 0,
        no_verdict_action: Action = Action.ALLOW,
        tls: Tls | None = None,
        token: Token | None = None,
        allow_insecure_token: bool = False,
    ) -> None:
        """Opens nothing yet.

        `endpoint` is `host:port` or `unix:PATH`; without one, `JUDGE_CASCADE_ENDPOINT` names it, else it is
        `127.0.0.1:50051`. `timeout` is in seconds and holds for a call with all its `retries`, which are made only
        when the sidecar is away or full. `no_verdict_action` is what `action` says when there is no verdict.
        `token` goes with every call; without `tls` only to this machine, unless `allow_insecure_token` says that
        something else, such as a mesh, encrypts it.
        """
        chosen = endpoint or os.environ.get(ENDPOINT_VARIABLE) or DEFAULT_ENDPOINT
        _channel.target(chosen)
        if not 0 < timeout < float("inf"):
            raise ValueError(f"`{timeout}` is not a time-out; it must be more than 0 and finite")
        if retries < 0:
            raise ValueError(f"`{retries}` is not a number of retries")
        if no_verdict_action is Action.UNKNOWN:
            raise ValueError("`Action.UNKNOWN` is not an action")
        if not callable(token):
            _access.header(token)
        if token is not None and tls is None and not (allow_insecure_token or _access.stays_here(chosen)):
            raise ValueError(f"a token would be sent to `{chosen}` in clear text; set `tls`, or `allow_insecure_token`")
        self.endpoint = chosen
        self._tls = None if tls is None else Material(tls)
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._no_verdict_action = no_verdict_action
        self._is_closed = False
        self._lock = threading.Lock()
        # Channels of a parent process; to close or to collect them here would disturb theirs.
        self._abandoned: list[object] = []
        _clients.add(self)

    def _after_fork(self) -> None:
        # Another thread of the parent may have held it.
        self._lock = threading.Lock()
        self._abandon()

    def _abandon(self) -> None:
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed("the client is closed")

    def _plan(self, timeout: float | None, request_id: str | None, traceparent: str | None) -> _Plan:
        seconds = self._timeout if timeout is None else timeout
        if not 0 < seconds < float("inf"):
            raise ValueError(f"`{timeout}` is not a time-out; it must be more than 0 and finite")
        metadata = [("x-request-id", request_id or str(uuid.uuid4()))]
        if traceparent:
            metadata.append(("traceparent", traceparent))
        metadata += _access.header(self._token)
        return _Plan(time.monotonic() + seconds, self._retries, metadata)

    def _read(self, response: bytes, plan: _Plan) -> Result:
        try:
            verdict = _convert.verdict(api.DiagnoseResponse.FromString(response), plan.request_id)
        except DecodeError:
            verdict = None
        return verdict or self._without(NoVerdictReason.UNREADABLE, "the response names no verdict", plan)

    def _cut_off(self, plan: _Plan) -> NoVerdict:
        detail = "gRPC was used before the fork, without GRPC_ENABLE_FORK_SUPPORT=1 or with a call in flight"
        return self._without(NoVerdictReason.FORKED, detail, plan)

    def _without(self, reason: NoVerdictReason, detail: str, plan: _Plan) -> NoVerdict:
        return NoVerdict(reason, detail, False, self._no_verdict_action, plan.request_id)


# Every client that is alive, for the child of a fork.
_clients: weakref.WeakSet[_Base] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._after_fork()


os.register_at_fork(after_in_child=_after_fork)


class _Plan:
    """The time of a call, its retries and what goes with it."""

    def __init__(self, end: float, retries: int, metadata: list[tuple[str, str]]) -> None:
        self.metadata = metadata
        self._end = end
        self._delays = _delays(retries)

    @property
    def request_id(self) -> str:
        return self.metadata[0][1]

    @property
    def left(self) -> float:
        """Seconds until the deadline; gRPC ends a call at once that has none."""
        return max(self._end - time.monotonic(), 0.0)

    def delay(self, failure: Failure) -> float | None:
        """How long to wait before the next try; `None` if there is none, or no time for it."""
        if not failure.is_retryable:
            return None
        delay = next(self._delays, None)
        return delay if delay is not None and delay < self.left else None


def _delays(retries: int) -> Iterator[float]:
    for attempt in range(retries):
        yield min(_FIRST_DELAY * 2**attempt, _LONGEST_DELAY)


class Client(_Base):
    """Diagnoses traces with calls that block; safe to share between threads and to use after a fork."""

    _open: _Open[grpc.Channel] | None = None

    def diagnose(
        self,
        trace: Trace,
        *,
        profile: str | None = None,
        scope: Scope | None = None,
        fallback_mode: FallbackMode | None = None,
        skip_cache: bool = False,
        include_statements: bool = False,
        timeout: float | None = None,
        request_id: str | None = None,
        traceparent: str | None = None,
    ) -> Result:
        """Diagnoses a trace.

        Raises `InvalidTrace` if the request breaks a rule; everything else that fails is a `NoVerdict`.
        """
        message = _convert.request(trace, profile, scope, fallback_mode, skip_cache, include_statements)
        plan = self._plan(timeout, request_id, traceparent)
        while True:
            if PROCESS.is_cut_off:
                return self._cut_off(plan)
            opened = self._opened()
            try:
                with PROCESS:
                    response = opened.diagnose(message, timeout=plan.left, metadata=plan.metadata)
                return self._read(response, plan)
            except grpc.RpcError as error:
                # Another thread may have closed the channel meanwhile.
                self._check_open()
                failure = Failure.of(error)
            except ValueError:
                self._check_open()
                raise
            delay = plan.delay(failure)
            if delay is None:
                return no_verdict(failure, self._no_verdict_action, plan.request_id)
            time.sleep(delay)

    def _opened(self) -> _Open[grpc.Channel]:
        with self._lock:
            self._check_open()
            if self._open is None:
                self._open = _Open.over(PROCESS.open(self.endpoint, self._tls))
            return self._open

    def _abandon(self) -> None:
        if self._open is not None:
            self._abandoned.append(self._open)
            self._open = None

    def close(self) -> None:
        """Ends the calls in flight and every later one."""
        with self._lock:
            self._is_closed = True
            opened, self._open = self._open, None
        if opened is not None:
            opened.channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_ByLoop: TypeAlias = "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Open[grpc.aio.Channel]]"


class AsyncClient(_Base):
    """Diagnoses traces in asyncio; every event loop that uses it gets a channel of its own."""

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = 0,
        no_verdict_action: Action = Action.ALLOW,
        tls: Tls | None = None,
        token: Token | None = None,
        allow_insecure_token: bool = False,
    ) -> None:
        """Opens nothing yet; see `Client`."""
        super().__init__(
            endpoint,
            timeout=timeout,
            retries=retries,
            no_verdict_action=no_verdict_action,
            tls=tls,
            token=token,
            allow_insecure_token=allow_insecure_token,
        )
        self._open: _ByLoop = weakref.WeakKeyDictionary()

    async def diagnose(
        self,
        trace: Trace,
        *,
        profile: str | None = None,
        scope: Scope | None = None,
        fallback_mode: FallbackMode | None = None,
        skip_cache: bool = False,
        include_statements: bool = False,
        timeout: float | None = None,
        request_id: str | None = None,
        traceparent: str | None = None,
    ) -> Result:
        """Diagnoses a trace.

        Raises `InvalidTrace` if the request breaks a rule; everything else that fails is a `NoVerdict`.
        """
        message = _convert.request(trace, profile, scope, fallback_mode, skip_cache, include_statements)
        plan = self._plan(timeout, request_id, traceparent)
        while True:
            if PROCESS.is_cut_off:
                return self._cut_off(plan)
            opened = self._opened()
            try:
                return self._read(await opened.diagnose(message, timeout=plan.left, metadata=plan.metadata), plan)
            except grpc.aio.AioRpcError as error:
                self._check_open()
                failure = Failure.of(error)
            except grpc.aio.UsageError:
                self._check_open()
                raise
            except asyncio.CancelledError:
                # A closed channel cancels its calls; the task itself is then not being cancelled.
                if not _is_being_cancelled():
                    self._check_open()
                raise
            delay = plan.delay(failure)
            if delay is None:
                return no_verdict(failure, self._no_verdict_action, plan.request_id)
            await asyncio.sleep(delay)

    def _opened(self) -> _Open[grpc.aio.Channel]:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._check_open()
            opened = self._open.get(loop)
            if opened is None:
                opened = self._open[loop] = _Open.over(PROCESS.open_for_asyncio(self.endpoint, self._tls))
            return opened

    def _abandon(self) -> None:
        self._abandoned += self._open.values()
        self._open = weakref.WeakKeyDictionary()

    async def close(self) -> None:
        """Ends the calls in flight of this event loop, and every later call."""
        with self._lock:
            self._is_closed = True
            opened = self._open.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await PROCESS.close_for_asyncio(opened.channel)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    # Python 3.10 does not tell.
    cancelling = getattr(task, "cancelling", None)
    return cancelling is None or cancelling() > 0
