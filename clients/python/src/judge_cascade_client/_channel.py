"""How a channel is opened, and what a fork does to it.

A channel of gRPC belongs to the process that opened it. A child of a fork drops the one of its parent without closing
it and opens its own. Once gRPC was used, that works only if it was loaded with support for forks and no thread was
inside of it at that moment; otherwise the first call of the child would never return. This module knows which it was.
It does not switch that support on: with it, a fork beside a call in flight hangs by itself.
"""

from __future__ import annotations

import os
import threading
import weakref

import grpc
import grpc.aio

from ._access import Material

_SUPPORTS_FORK = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() in {"1", "t", "true", "y", "yes"}

METHOD = "/judgecascade.v1.DiagnosisService/Diagnose"

Option = tuple[str, str | int]


def target(endpoint: str) -> str:
    """The name that gRPC connects to."""
    if endpoint.startswith("unix:") or ("://" not in endpoint and ":" in endpoint):
        return endpoint
    raise ValueError(f"`{endpoint}` is not an endpoint such as `127.0.0.1:50051` or `unix:PATH`")


def options(endpoint: str, tls: Material | None) -> list[Option]:
    """What a channel to a sidecar needs."""
    chosen: list[Option] = [
        # A proxy of the environment is not meant for a sidecar.
        ("grpc.enable_http_proxy", 0),
        # Retries are counted by this client alone.
        ("grpc.enable_retries", 0),
        # A sidecar that was away is found again soon.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    if endpoint.startswith("unix:"):
        # gRPC would send the path, percent-encoded, as the authority, which HTTP/2 servers refuse.
        chosen.append(("grpc.default_authority", "localhost"))
    if tls is not None and tls.server_name is not None:
        chosen.append(("grpc.ssl_target_name_override", tls.server_name))
    return chosen


class Process:
    """What this process has done with gRPC, as far as this package knows."""

    def __init__(self) -> None:
        self.is_cut_off = False
        """Whether a fork has left gRPC unusable."""
        self._was_used = False
        # Threads that are in a call that blocks; adding and removing needs no lock.
        self._calling: set[int] = set()
        # While one is open, a thread of asyncio's own is always inside of gRPC.
        self._for_asyncio: weakref.WeakSet[grpc.aio.Channel] = weakref.WeakSet()
        os.register_at_fork(after_in_child=self._after_fork)

    def open(self, endpoint: str, tls: Material | None) -> grpc.Channel:
        """A channel for calls that block."""
        self._was_used = True
        name, chosen = target(endpoint), options(endpoint, tls)
        if tls is None:
            return grpc.insecure_channel(name, options=chosen)
        return grpc.secure_channel(name, tls.credentials(), options=chosen)

    def open_for_asyncio(self, endpoint: str, tls: Material | None) -> grpc.aio.Channel:
        """A channel for the running event loop."""
        self._was_used = True
        name, chosen = target(endpoint), options(endpoint, tls)
        if tls is None:
            channel = grpc.aio.insecure_channel(name, options=chosen)
        else:
            channel = grpc.aio.secure_channel(name, tls.credentials(), options=chosen)
        self._for_asyncio.add(channel)
        return channel

    async def close_for_asyncio(self, channel: grpc.aio.Channel) -> None:
        """Closes a channel of the running event loop."""
        await channel.close()
        self._for_asyncio.discard(channel)

    def __enter__(self) -> None:
        """This thread begins a call that blocks."""
        self._calling.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self._calling.discard(threading.get_ident())

    def _after_fork(self) -> None:
        was_inside = bool(self._calling) or len(self._for_asyncio) > 0
        if self._was_used and (was_inside or not _SUPPORTS_FORK):
            self.is_cut_off = True
        self._calling = set()


PROCESS = Process()
"""This process."""
