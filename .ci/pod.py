"""Runs the container judge-cascade of a rendered Pod as a kubelet would, as far as one can without one.

The root is read-only and holds the program and its libraries alone; volumes are mounted where the Pod mounts them, with
the owner that `fsGroup` gives; the user is the one of `securityContext`; the environment is the one of the container.
Probes go to the address of the Pod, not to loopback. Needs a mount and a network namespace of its own (`unshare -mn`).
"""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = "/usr/local/bin/judge-cascade"
POD_IP = "192.0.2.10"
WAIT_SECONDS = 30


class Wrong(Exception):
    """What is wrong with a manifest or with what it makes of the program."""


def expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Wrong(otherwise)


def ours(container: dict[str, Any]) -> bool:
    return container["image"].split(":")[0].split("/")[-1] == "judge-cascade"


def pod_spec(workload: dict[str, Any]) -> dict[str, Any]:
    return workload["spec"]["template"]["spec"]


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec.get("initContainers", []), *spec["containers"]]


def set_up_network() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{POD_IP}/32", "dev", "lo"], check=True)


def make_image(binary: Path, folder: Path) -> None:
    """A folder with the program and the libraries that it is linked to."""
    target = folder / PROGRAM[1:]
    target.parent.mkdir(parents=True)
    shutil.copy(binary, target)
    linked = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", linked):
        target = folder / library[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)


class Pod:
    """The volumes and the root of one Pod; `with` mounts and unmounts them."""

    def __init__(
        self,
        spec: dict[str, Any],
        objects: list[dict[str, Any]],
        image: Path,
        folder: Path,
        secrets: dict[str, dict[str, str]],
    ) -> None:
        self.spec = spec
        self.container = next(each for each in containers(spec) if ours(each))
        self.image = image
        self.volumes = folder / "volumes"
        self.root = folder / "root"
        self.mounted: list[Path] = []
        self.group = spec.get("securityContext", {}).get("fsGroup")
        maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
        for volume in spec.get("volumes", []):
            self._fill(volume, maps, secrets)

    def _fill(self, volume: dict[str, Any], maps: dict[str, Any], secrets: dict[str, Any]) -> None:
        folder = self.volumes / volume["name"]
        folder.mkdir(parents=True)
        files: dict[str, str] = {}
        mode = 0o644
        if "configMap" in volume:
            name = volume["configMap"]["name"]
            if name not in maps:
                raise Wrong(f"volume {volume['name']}: there is no ConfigMap `{name}`")
            files = maps[name]
        elif "secret" in volume:
            source = volume["secret"]
            mode = source.get("defaultMode", mode)
            if source["secretName"] not in secrets and not source.get("optional"):
                raise Wrong(f"volume {volume['name']}: there is no Secret `{source['secretName']}`")
            files = secrets.get(source["secretName"], {})
        elif "emptyDir" not in volume:
            raise Wrong(f"volume {volume['name']}: is of no kind that is known here")
        for name, text in files.items():
            (folder / name).write_text(text)
            os.chmod(folder / name, mode)
        if self.group is not None:
            for path in [folder, *folder.iterdir()]:
                os.chown(path, 0, self.group)
        os.chmod(folder, 0o2777 if "emptyDir" in volume else 0o755)

    def __enter__(self) -> "Pod":
        shutil.copytree(self.image, self.root, copy_function=os.link)
        mounts = self.container.get("volumeMounts", [])
        for mount in mounts:
            (self.root / mount["mountPath"][1:]).mkdir(parents=True, exist_ok=True)
        self._mount(self.root, self.root, self.container["securityContext"]["readOnlyRootFilesystem"])
        for mount in mounts:
            source = self.volumes / mount["name"]
            if not source.is_dir():
                raise Wrong(f"volumeMounts: there is no volume `{mount['name']}`")
            self._mount(source, self.root / mount["mountPath"][1:], mount.get("readOnly", False))
        return self

    def _mount(self, source: Path, target: Path, read_only: bool) -> None:
        subprocess.run(["mount", "--bind", source, target], check=True)
        self.mounted.append(target)
        if read_only:
            subprocess.run(["mount", "-o", "remount,bind,ro", target], check=True)

    def __exit__(self, *_: object) -> None:
        for target in reversed(self.mounted):
            subprocess.run(["umount", target], check=True)

    def command(self, arguments: list[str], user: int, groups: list[int]) -> list[str]:
        """The program in this root as this user."""
        environment = [f"{each['name']}={each['value']}" for each in self.container.get("env", [])]
        listed = ",".join(str(group) for group in groups)
        chroot = [shutil.which("chroot") or "chroot", f"--userspec={user}:{groups[0]}", f"--groups={listed}", str(self.root)]
        return ["env", "-i", *environment, *chroot, PROGRAM, *arguments]

    def as_container(self, arguments: list[str]) -> list[str]:
        context = self.container["securityContext"]
        groups = [context["runAsGroup"], *([] if self.group is None else [self.group])]
        return self.command(arguments, context["runAsUser"], groups)

    def ask(self, arguments: list[str]) -> str:
        """What a command of the program prints in this container."""
        done = subprocess.run(self.as_container(arguments), capture_output=True, text=True, timeout=WAIT_SECONDS)
        if done.returncode != 0:
            raise Wrong(f"`{' '.join(arguments)}` ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


class Serving:
    """The container from its start to its SIGTERM."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        arguments = [*pod.container.get("command", []), *pod.container["args"]]
        self.log = (pod.volumes.parent / "log").open("w+")
        self.process = subprocess.Popen(
            pod.as_container(arguments), stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT
        )

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()

    def lines(self) -> list[str]:
        return Path(self.log.name).read_text().splitlines()

    def places(self) -> dict[str, str]:
        """The addresses that it says it serves on."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            for line in self.lines():
                if '"message":"serving"' in line:
                    return json.loads(line)
            if self.process.poll() is not None:
                raise Wrong(f"the program ended with {self.process.returncode}: {self.lines()[-3:]}")
            time.sleep(0.02)
        raise Wrong(f"the program does not serve: {self.lines()[-3:]}")

    def port(self, name_or_number: str | int) -> int:
        if isinstance(name_or_number, int):
            return name_or_number
        for port in self.pod.container["ports"]:
            if port["name"] == name_or_number:
                return port["containerPort"]
        raise Wrong(f"the container has no port `{name_or_number}`")

    def get(self, port: str | int, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(POD_IP, self.port(port), timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            raise Wrong(f"GET {path} at port {port} of the Pod: {error}") from error
        finally:
            connection.close()

    def probe(self, name: str) -> None:
        wanted = self.pod.container[name]["httpGet"]
        status, _ = self.get(wanted["port"], wanted["path"])
        if status != 200:
            raise Wrong(f"{name}: GET {wanted['path']} is answered with {status}")

    def end(self, grace_seconds: float) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=grace_seconds)
        except subprocess.TimeoutExpired as error:
            raise Wrong(f"the program has not ended after {grace_seconds} s") from error
        if code != 0:
            raise Wrong(f"the program ended with {code}: {self.lines()[-3:]}")
