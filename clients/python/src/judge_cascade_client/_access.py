"""Whom a client trusts and how it shows who it is: TLS and tokens, checked before anything is opened."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import grpc

Pem: TypeAlias = "bytes | str | os.PathLike[str]"
"""PEM itself as bytes, or the path of a file with it."""

Token: TypeAlias = "str | Callable[[], str]"
"""A token, or what gives one for each call."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How to speak TLS to a sidecar. Files are read when a client is made."""

    root_certificates: Pem
    """The authorities, one of which must have issued the certificate of the sidecar."""
    certificate_chain: Pem | None = None
    """The certificate that the client shows, if the sidecar asks for one."""
    private_key: Pem | None = None
    """Its key."""
    server_name: str | None = None
    """The name that the certificate of the sidecar must hold, if it is not the host of the endpoint."""


class Material:
    """What the files of a `Tls` hold."""

    def __init__(self, tls: Tls) -> None:
        if (tls.certificate_chain is None) != (tls.private_key is None):
            raise ValueError("`certificate_chain` and `private_key` belong together; one of them is missing")
        self.server_name = tls.server_name
        self._roots = _read("root_certificates", tls.root_certificates, b"CERTIFICATE-----")
        self._chain = self._key = None
        if tls.certificate_chain is not None and tls.private_key is not None:
            self._chain = _read("certificate_chain", tls.certificate_chain, b"CERTIFICATE-----")
            self._key = _read("private_key", tls.private_key, b"PRIVATE KEY-----")

    def credentials(self) -> grpc.ChannelCredentials:
        """The same for a channel."""
        return grpc.ssl_channel_credentials(self._roots, self._key, self._chain)


def _read(name: str, pem: Pem, mark: bytes) -> bytes:
    if isinstance(pem, bytes):
        text, place = pem, ""
    else:
        with open(pem, "rb") as file:
            text, place = file.read(), f" in `{os.fspath(pem)}`"
    if mark not in text:
        raise ValueError(f"`{name}`{place} is not PEM with a {mark.strip(b'-').decode().lower()}")
    return text


def header(token: Token | None) -> list[tuple[str, str]]:
    """The metadata that carries the token; no error shows it."""
    if token is None:
        return []
    value = token() if callable(token) else token
    value = value.rstrip()
    if not value or not all("!" <= c <= "~" for c in value):
        raise ValueError("the token is empty or holds a character that is not printable ASCII, or a space")
    return [("authorization", f"Bearer {value}")]


def stays_here(endpoint: str) -> bool:
    """Whether what is sent to an endpoint does not leave the machine."""
    if endpoint.startswith("unix:"):
        return True
    host = endpoint.rsplit(":", 1)[0].strip("[]")
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
