"""Runs the service of deploy/systemd as systemd would, as far as one can without one.

`systemd.py BINARY FOLDER`, in a network namespace of its own (`unshare -n`), in the root of the repository. ExecStart of
the unit runs in a root with its folders and credentials, as a user of its own, with a socket for what it tells; its
system calls must be those that the unit allows.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pod
from pod import PROGRAM, Wrong, expect

FOLDER = Path("deploy/systemd")
CREDENTIALS = "/run/credentials/judge-cascade.service"
CONFIG = "/etc/judge-cascade/judge-cascade.toml"
NOTIFY = "/run/notify"
USER, GROUP, STRANGER = 61184, 61185, 61186
# Shorter than the one of the unit, which nobody wants to wait for.
WATCHDOG_USEC = 200_000


def settings(name: str) -> dict[str, list[str]]:
    """The settings of a unit file; one that stands there again has several values."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / name).read_text().splitlines():
        if line and line[0] not in "#[":
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def uncommented(text: str, first: str) -> str:
    """The text with the block that begins with this line, up to an empty line, without its comment signs."""
    start = text.index(f"# {first}\n")
    end = text.find("\n\n", start)
    block = text[start:] if end < 0 else text[start : end + 1]
    return text.replace(block, re.sub(r"^# ?", "", block, flags=re.M))


def configurations() -> dict[str, str]:
    """The file as it is, and with each of its blocks."""
    plain = (FOLDER / "judge-cascade.toml").read_text()
    listening = re.sub(r"^uds.*\n", "", plain, flags=re.M).replace("# listen =", "listen =")
    return {
        "as it is": plain,
        "with a judge": uncommented(plain, "[judges.remote]"),
        "with TLS and a token": uncommented(listening, "[server.tls]"),
    }


class Service:
    """A root with the folders of the unit, and its ExecStart in it."""

    def __init__(self, image: Path, root: Path, config: str, credentials: dict[str, str]) -> None:
        self.unit = settings("judge-cascade.service")
        self.root = root
        shutil.copytree(image, root, copy_function=os.link)
        self.folder("/etc/judge-cascade", 0, 0o755)
        self.file(CONFIG, config, 0, 0o644)
        (runtime,), (state,) = self.unit["RuntimeDirectory"], self.unit["StateDirectory"]
        self.folder(f"/run/{runtime}", USER, int(self.unit["RuntimeDirectoryMode"][0], 8))
        self.folder(f"/var/lib/{state}", USER, int(self.unit["StateDirectoryMode"][0], 8))
        self.folder(CREDENTIALS, USER, 0o500)
        for name, text in credentials.items():
            self.file(f"{CREDENTIALS}/{name}", text, USER, 0o400)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(self.path(NOTIFY)))
        self.path(NOTIFY).chmod(0o777)
        self.manager.settimeout(pod.WAIT_SECONDS)

    def path(self, inside: str) -> Path:
        return self.root / inside[1:]

    def folder(self, inside: str, user: int, mode: int) -> None:
        self.path(inside).mkdir(parents=True)
        os.chown(self.path(inside), user, GROUP if user else 0)
        self.path(inside).chmod(mode)

    def file(self, inside: str, text: str, user: int, mode: int) -> None:
        self.path(inside).write_text(text)
        os.chown(self.path(inside), user, GROUP if user else 0)
        self.path(inside).chmod(mode)

    def command(self, words: list[str], user: int, group: int) -> list[str]:
        chroot = shutil.which("chroot") or "chroot"
        variables = [f"NOTIFY_SOCKET={NOTIFY}", f"WATCHDOG_USEC={WATCHDOG_USEC}", f"CREDENTIALS_DIRECTORY={CREDENTIALS}"]
        return ["env", "-i", *variables, chroot, f"--userspec={user}:{group}", "--groups=", str(self.root), *words]

    def ask(self, words: list[str], user: int = USER, group: int = GROUP) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command([PROGRAM, *words], user, group), capture_output=True, text=True)

    def next(self) -> list[str]:
        return self.manager.recv(4096).decode().splitlines()

    def run(self, calls: Path) -> str:
        """From the start to the end; what it told when it was ready. Its system calls are written to `calls`."""
        (start,) = self.unit["ExecStart"]
        umask = int(self.unit["UMask"][0], 8)
        trace = ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-o", str(calls)]
        log = calls.with_suffix(".log").open("w")
        process = subprocess.Popen(
            [*trace, *self.command(start.split(), USER, GROUP)], stdout=log, stderr=log, umask=umask
        )
        try:
            ready, status = self.next()
            expect(ready == "READY=1", f"the first message is `{ready}`")
            expect(self.next() == ["WATCHDOG=1"], "there is no sign of life")
            self.check_callers(status)
            process.send_signal(signal.SIGTERM)
            heard = self.next()
            while heard == ["WATCHDOG=1"]:
                heard = self.next()
            expect(heard[0] == "STOPPING=1", f"the last message is {heard}")
            code = process.wait(timeout=int(self.unit["TimeoutStopSec"][0]))
            expect(code == 0, f"the service ended with {code}")
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise Wrong(f"{error}: {Path(log.name).read_text()[-400:]}") from error
        finally:
            process.kill()
            process.wait()
            log.close()
        return status

    def check_callers(self, status: str) -> None:
        """The check of README.md passes; who is in the group may use the socket, and nobody else."""
        answer = self.ask(["healthcheck", "--config", CONFIG, "--timeout-ms", "30000"], 0, 0)
        expect(answer.returncode == 0, f"healthcheck: {answer.stderr}")
        place = re.match(r"STATUS=serving on (\S+),", status)
        expect(place is not None, f"the status is `{status}`")
        if not place[1].startswith("unix:"):
            self.check_token(place[1].rsplit(":", 1)[1])
            return
        # strace makes it slow on a machine under load.
        health = ["healthcheck", "--endpoint", place[1], "--timeout-ms", "30000"]
        answer = self.ask(health, STRANGER, GROUP)
        expect(answer.returncode == 0, f"a caller in the group cannot call: {answer.stderr}")
        expect(self.ask(health, STRANGER, STRANGER).returncode != 0, "a caller who is not in the group can call")

    def check_token(self, port: str) -> None:
        """Over TLS, who has the token may call, and nobody else."""
        secrets = self.path(CREDENTIALS)
        wrong = self.root / "wrong-token"
        wrong.write_text("another-token-that-is-long-enough\n")
        call = [self.path(PROGRAM), "diagnose", "fixtures/traces/demo.jsonl", "--endpoint", f"https://localhost:{port}"]
        for token, is_right in [(secrets / "token", True), (wrong, False)]:
            tls = ["--ca-file", secrets / "tls.crt", "--token-file", token]
            answer = subprocess.run([*call, *tls], capture_output=True, text=True)
            is_let_in = answer.returncode == 0 and "UNAUTHENTICATED" not in answer.stderr
            expect(is_let_in == is_right, f"{token.name}: ended with {answer.returncode}: {answer.stderr[-300:]}")


def allowed_calls(unit: dict[str, list[str]]) -> set[str]:
    """The system calls that the filters leave, with those that systemd always allows."""
    allowed = expand("@default")
    for value in unit["SystemCallFilter"]:
        named = set().union(*(expand(word) for word in value.removeprefix("~").split()))
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


def expand(word: str) -> set[str]:
    if not word.startswith("@"):
        return {word}
    shown = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True, capture_output=True, text=True)
    lines = [line.strip() for line in shown.stdout.splitlines()[1:]]
    return set().union(*(expand(line) for line in lines if line and not line.startswith("#")))


def made_calls(trace: Path) -> set[str]:
    """What was called after the program itself was started."""
    lines = trace.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if f'execve("{PROGRAM}"' in line)
    return set(re.findall(r"^\d+ +(\w+)\(", "\n".join(lines[start:]), re.M))


def check_unit(unit: dict[str, list[str]], config: dict[str, dict[str, object]]) -> None:
    grace = int(str(config["server"]["shutdown_grace_ms"])) / 1000
    expect(grace < int(unit["TimeoutStopSec"][0]), "the grace is longer than TimeoutStopSec")
    wanted = {"Type": "notify", "NotifyAccess": "main", "DynamicUser": "yes", "LimitCORE": "0"}
    for key, value in wanted.items():
        expect(unit.get(key) == [value], f"{key} is not {value}")
    connections = int(str(config["server"]["max_connection_count"]))
    expect(int(unit["WatchdogSec"][0]) > 1, "WatchdogSec is too short for a machine under load")
    expect(2 * connections < int(unit["LimitNOFILE"][0]), "LimitNOFILE is too low for max_connection_count")


def check_installation(binary: Path, root: Path) -> None:
    """What README.md installs stands where the unit and systemd look for it, block by block."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (FOLDER / "README.md").read_text(), re.M | re.S)
    services = "/etc/systemd/system/judge-cascade.service"
    program, _, _, config = settings("judge-cascade.service")["ExecStart"][0].split()
    installed: set[str] = set()
    for block in blocks:
        for mode, source, target in re.findall(r"^install -D -m (\d+) (\S+) (\S+)$", block, re.M):
            real = str(binary) if source == "target/dist/judge-cascade" else source
            real = "/dev/null" if real.startswith("PATH-OF-") else real
            subprocess.run(["install", "-D", "-m", mode, real, f"{root}{target}"], check=True)
            installed.add(target)
        # With the drop-ins that are there now, the service has what it needs to start.
        for drop_in in sorted(Path(f"{root}{services}.d").glob("*.conf")):
            expect((FOLDER / "credentials" / drop_in.name).is_file(), f"{drop_in.name} is not of this name")
            for value in settings(f"credentials/{drop_in.name}")["LoadCredential"]:
                expect(value.split(":")[1] in installed, f"{drop_in.name} is installed without `{value}`")
    drop_ins = [f"{services}.d/{each.name}" for each in (FOLDER / "credentials").iterdir()]
    for path in [program, config, services, *drop_ins]:
        expect(path in installed, f"README.md does not install `{path}`")


def check_credentials(configs: dict[str, str]) -> dict[str, str]:
    """Credentials and the files that the configuration names are the same; gives them some content."""
    drop_ins = [settings(f"credentials/{each.name}") for each in (FOLDER / "credentials").iterdir()]
    loaded = {value.split(":")[0] for each in drop_ins for value in each["LoadCredential"]}
    named = set(re.findall(rf'"{CREDENTIALS}/([^"]+)"', "".join(configs.values())))
    expect(loaded == named, f"the drop-ins load {sorted(loaded)}, the configuration names {sorted(named)}")
    return {name: "not-a-secret-but-long-enough-for-one\n" for name in loaded}


def certificate(folder: Path) -> dict[str, str]:
    names = ["-keyout", "tls.key", "-out", "tls.crt", "-subj", "/CN=judge-cascade", "-addext", "subjectAltName=DNS:localhost"]
    names += ["-addext", "basicConstraints=critical,CA:FALSE"]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run([*new, *names], cwd=folder, check=True, capture_output=True)
    return {name: (folder / name).read_text() for name in ["tls.key", "tls.crt"]}


def main() -> None:
    binary, folder = Path(sys.argv[1]), Path(sys.argv[2])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    check_installation(binary, folder / "installed")
    pod.make_image(binary, folder / "image")
    configs = configurations()
    credentials = check_credentials(configs) | certificate(folder)
    for number, (name, text) in enumerate(configs.items()):
        # As it is, it needs none.
        given = {} if number == 0 else credentials
        service = Service(folder / "image", folder / f"root-{number}", text, given)
        checked = service.ask(["config", "check", "--config", CONFIG])
        expect(checked.returncode == 0, f"{name}: config check: {checked.stderr}")
        printed = service.ask(["config", "print", "--config", CONFIG]).stdout
        check_unit(service.unit, tomllib.loads(printed))
        calls = folder / f"calls-{number}"
        status = service.run(calls)
        made = made_calls(calls)
        refused = made - allowed_calls(service.unit)
        expect(len(made) > 20, f"{name}: only {sorted(made)} were seen")
        expect(not refused, f"{name}: the unit does not allow {sorted(refused)}")
        print(f"{name}: {status}; {len(made)} system calls, all allowed")


if __name__ == "__main__":
    try:
        main()
    except Wrong as error:
        sys.exit(f"systemd: {error}")
