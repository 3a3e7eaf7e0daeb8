"""TLS, client certificates and tokens against the real program."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import trustme
from conftest import QUOTED, Sidecar, Start, eventually

from judge_cascade_client import AsyncClient, Client, NoVerdict, NoVerdictReason, Result, Tls, Verdict

TOKEN = "a-token-of-the-tests"
WRONG = "a-token-of-nobody-at-all"


@dataclass
class Files:
    """A sidecar that asks for certificates and tokens, and what its callers need."""

    folder: pathlib.Path
    authority: trustme.CA

    def write(self, name: str, *blobs: trustme.Blob) -> str:
        path = self.folder / name
        path.write_bytes(b"".join(blob.bytes() for blob in blobs))
        return str(path)

    def identity(self, name: str, *hosts: str, authority: trustme.CA | None = None) -> tuple[str, str]:
        issued = (authority or self.authority).issue_cert(*hosts)
        chain = self.write(f"{name}.crt", *issued.cert_chain_pems)
        return chain, self.write(f"{name}.key", issued.private_key_pem)

    @property
    def roots(self) -> str:
        return self.write("ca.crt", self.authority.cert_pem)


@pytest.fixture
def files(tmp_path: pathlib.Path) -> Files:
    return Files(tmp_path, trustme.CA())


def token_file(folder: pathlib.Path) -> str:
    path = folder / "tokens"
    path.write_text(f"{TOKEN}\n")
    return str(path)


def both(endpoint: str, **how: object) -> list[Result]:
    """What both clients get."""

    async def diagnose() -> Result:
        async with AsyncClient(endpoint, **how) as client:  # type: ignore[arg-type]
            return await client.diagnose(QUOTED)

    with Client(endpoint, **how) as client:  # type: ignore[arg-type]
        return [client.diagnose(QUOTED), asyncio.run(diagnose())]


def let_in(endpoint: str, **how: object) -> None:
    for result in both(endpoint, **how):
        assert isinstance(result, Verdict) and result.is_pass, result


def refused(endpoint: str, reason: NoVerdictReason, **how: object) -> None:
    for result in both(endpoint, **how):
        assert isinstance(result, NoVerdict), result
        assert result.reason is reason, result
        assert TOKEN not in result.detail and WRONG not in result.detail


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_token_lets_in_and_a_wrong_one_is_no_verdict(start: Start, tmp_path: pathlib.Path, transport: str) -> None:
    listen = [] if transport == "tcp" else ["--uds", str(tmp_path / "jc.sock")]
    sidecar = start(*listen, JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE=token_file(tmp_path))
    let_in(sidecar.endpoint, token=TOKEN)
    for wrong in (None, WRONG):
        refused(sidecar.endpoint, NoVerdictReason.UNAUTHENTICATED, token=wrong, retries=100)
    method = 'method="judgecascade.v1.DiagnosisService/Diagnose",code="UNAUTHENTICATED"'
    # It is not asked again: no retry makes a token right.
    assert sidecar.series(f"judge_cascade_rpc_requests_total{{{method}}}") == 4


def test_a_token_that_rotates_is_asked_for_with_each_call(start: Start, tmp_path: pathlib.Path) -> None:
    path = pathlib.Path(token_file(tmp_path))
    sidecar = start(JUDGE_CASCADE__SERVER__AUTH__TOKEN_FILE=str(path))
    with Client(sidecar.endpoint, token=path.read_text) as client:
        assert isinstance(client.diagnose(QUOTED), Verdict)
        path.write_text(f"{WRONG}\n")
        # The sidecar looks at its file every few seconds, the client at once.
        eventually(lambda: isinstance(client.diagnose(QUOTED), Verdict))


def test_a_token_in_clear_text_stays_on_this_machine() -> None:
    for endpoint in ("127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "unix:/tmp/jc.sock"):
        Client(endpoint, token=TOKEN)
    for endpoint in ("gateway:1", "10.0.0.1:1", "[fd00::1]:1", "localhost.example.com:1", "dns:localhost:1"):
        for kind in (Client, AsyncClient):
            with pytest.raises(ValueError, match="clear text") as raised:
                kind(endpoint, token=TOKEN)
            assert TOKEN not in str(raised.value)
            kind(endpoint, token=TOKEN, allow_insecure_token=True)


@pytest.mark.parametrize("token", ["", "\n", "two words", "t\u00e9l\u00e9", "a\nb"])
def test_a_token_that_cannot_be_sent_is_an_error_that_does_not_show_it(token: str) -> None:
    with pytest.raises(ValueError, match="the token is empty or holds") as raised:
        Client(token=token)
    assert "words" not in str(raised.value)
    with pytest.raises(ValueError, match="the token is empty or holds"):
        Client(token=lambda: token).diagnose(QUOTED)


@pytest.fixture
def guarded(start: Start, files: Files) -> Callable[..., Sidecar]:
    """Starts a sidecar with TLS, for clients with a certificate of the authority for `rag.test`, and with a token."""

    def begin() -> Sidecar:
        chain, key = files.identity("server", "127.0.0.1", "sidecar.test")
        config = files.folder / "guarded.toml"
        config.write_text(
            f"[server.tls]\ncert_file = '{chain}'\nkey_file = '{key}'\nclient_ca_file = '{files.roots}'\n"
            f"allowed_sans = ['rag.test']\n[server.auth]\ntoken_file = '{token_file(files.folder)}'\n"
        )
        return start("--config", str(config))

    return begin


def test_certificate_and_token_let_in_and_nothing_less_does(guarded: Callable[..., Sidecar], files: Files) -> None:
    sidecar, roots = guarded(), files.roots
    right = Tls(roots, *files.identity("client", "rag.test"))
    let_in(sidecar.endpoint, tls=right, token=TOKEN)
    authority, chain, key = ((files.folder / name).read_bytes() for name in ("ca.crt", "client.crt", "client.key"))
    let_in(sidecar.endpoint, tls=Tls(authority, chain, key), token=TOKEN)
    let_in(sidecar.endpoint, tls=Tls(authority, chain, key, server_name="sidecar.test"), token=TOKEN)
    refused(sidecar.endpoint, NoVerdictReason.UNAUTHENTICATED, tls=right, token=WRONG)
    refused(sidecar.endpoint, NoVerdictReason.UNAUTHENTICATED, tls=right)
    other = trustme.CA()
    wrong = {
        "no_certificate": Tls(roots),
        "unknown_issuer": Tls(roots, *files.identity("other", "rag.test", authority=other)),
        "name_not_allowed": Tls(roots, *files.identity("elsewhere", "elsewhere.test")),
    }
    for cause, tls in wrong.items():
        refused(sidecar.endpoint, NoVerdictReason.UNAVAILABLE, tls=tls, token=TOKEN)
        assert sidecar.series(f'judge_cascade_tls_refused_total{{cause="{cause}"}}') >= 2, cause
    for tls in (
        Tls(files.write("other-ca.crt", other.cert_pem), right.certificate_chain, right.private_key),
        Tls(roots, right.certificate_chain, right.private_key, server_name="another.test"),
    ):
        refused(sidecar.endpoint, NoVerdictReason.UNAVAILABLE, tls=tls, token=TOKEN)
    refused(sidecar.endpoint, NoVerdictReason.UNAVAILABLE, token=TOKEN)


def test_files_that_cannot_be_used_are_told_when_a_client_is_made(files: Files) -> None:
    chain, key = files.identity("client", "rag.test")
    for tls, problem in (
        (Tls(files.roots, chain), "belong together"),
        (Tls(files.roots, None, key), "belong together"),
        (Tls(key), "`root_certificates` in .* is not PEM with a certificate"),
        (Tls(b"nothing"), "`root_certificates` is not PEM with a certificate"),
        (Tls(files.roots, chain, chain), "`private_key` in .* is not PEM with a private key"),
    ):
        with pytest.raises(ValueError, match=problem):
            Client(tls=tls)
    with pytest.raises(FileNotFoundError):
        Client(tls=Tls(files.folder / "absent.crt"))
