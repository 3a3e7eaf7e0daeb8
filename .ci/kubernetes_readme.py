"""The files and commands that deploy/kubernetes/README.md shows, for kubernetes.py: written, run, and run on mistakes."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pod
from pod import expect

MANIFESTS = Path("deploy/kubernetes")
# The sections with files.
SIDECAR = "Add the sidecar to your application"
GATEWAY = "The gateway"
EXAMPLES = [SIDECAR, GATEWAY]


def readme_example(heading: str, folder: Path) -> Path:
    """The files that README.md shows below this heading, each after a line that names it, and the application."""
    text = (MANIFESTS / "README.md").read_text()
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    files = re.findall(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)^```", section, re.M | re.S)
    names = [name for name, _ in files]
    expect(sorted(names) == ["judge-cascade.toml", "kustomization.yaml"], f"{heading}: README.md shows the files {names}")
    folder.mkdir(parents=True)
    for name, content in files:
        (folder / name).write_text(content.replace("../judge-cascade/deploy", os.path.relpath("deploy", folder)))
    (folder / "deployment.yaml").write_text((MANIFESTS / "overlays/native-sidecar/app.yaml").read_text())
    return folder


def check_look(folder: Path) -> None:
    """The command of README.md that looks at what kustomize makes tells a right kustomization from two wrong ones."""
    text = (MANIFESTS / "README.md").read_text()
    (command,) = re.findall(r"^kubectl kustomize .*$", text, re.M)

    def look(name: str, *changes: tuple[str, str, str]) -> list[str]:
        example = readme_example(SIDECAR, folder / name)
        for file, old, new in changes:
            content = (example / file).read_text()
            expect(old in content, f"{file}: there is no `{old}`")
            (example / file).write_text(content.replace(old, new, 1))
        done = subprocess.run(["bash", "-c", command], cwd=example, capture_output=True, text=True)
        return [line.split(":")[0].strip() for line in done.stdout.splitlines()]

    label = "  labels:\n    judge-cascade: sidecar\n"
    on_pods = ("deployment.yaml", "        app: rag-app\n", "        app: rag-app\n        judge-cascade: sidecar\n")
    elsewhere = ("deployment.yaml", "  name: rag-app\n", "  name: rag-app\n  namespace: rag\n")
    expect(look("right") == ["name", "image", "name"], "the look of README.md does not see the sidecar")
    seen = look("label", ("deployment.yaml", label, ""), on_pods)
    expect(seen == ["name"], f"the look of README.md sees {seen} with the label on the Pods")
    seen = look("namespace", ("kustomization.yaml", "namespace: rag\n", ""), elsewhere)
    expect(seen == ["name", "image"], f"the look of README.md sees {seen} with the namespace on the Deployment")


def check_example_key(binary: Path, example: Path) -> None:
    """The check of README.md needs no key in /run, and serve without the key ends with 2."""
    text = (MANIFESTS / "README.md").read_text()
    ((variable, words),) = re.findall(r"^(\w+)=PATH-OF-THE-KEY judge-cascade (.*)$", text, re.M)
    (example / "key").write_text("not-a-key\n")
    check = [binary.resolve(), *words.split()]
    for environment, code in [({variable: "key"}, 0), ({}, 2)]:
        done = subprocess.run(check, cwd=example, env=environment, capture_output=True, text=True)
        expect(done.returncode == code, f"`{words}` with {environment} ended with {done.returncode}: {done.stderr}")
    started = [binary.resolve(), "serve", "--config", "judge-cascade.toml"]
    code = subprocess.run(started, cwd=example, env={}, capture_output=True, timeout=pod.WAIT_SECONDS).returncode
    expect(code == 2, f"serve without its key ended with {code}")


def check_times(config: dict[str, Any], binary: Path, folder: Path) -> None:
    """A chat judge has the time that `init` gives it."""
    file = folder / "init.toml"
    subprocess.run([binary, "init", "--judge", "openai", "--output", file], check=True, capture_output=True)
    wanted = tomllib.loads(file.read_text())
    expect(config.get("time") == wanted["time"], f"[time] is {config.get('time')}, init writes {wanted['time']}")
    for key in ["timeout_ms", "attempt_timeout_ms"]:
        expected = wanted["judges"]["openai"][key]
        expect(config["judges"]["remote"].get(key) == expected, f"judges.remote.{key} is not {expected}, as init writes")
