"""Kills a worker of Ray in the middle of an evaluation and compares the report with that of one machine, byte for byte."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ray

import evaluate

REPORTS = ("report.json", "report.md", "report.html")
ROW_COUNT = 600
LATENCY_MS = 100


def fixtures(folder: Path) -> tuple[Path, Path]:
    """Many rows of the parity fixtures, with answers that take as long as they say, so that there is a middle."""
    source = Path(__file__).resolve().parents[2] / "fixtures"
    traces = [json.loads(line) for line in (source / "traces/parity.jsonl").read_text().splitlines()]
    with (folder / "data.jsonl").open("w") as out:
        for index in range(ROW_COUNT):
            row = {**traces[index % len(traces)], "id": f"t{index}"}
            out.write(json.dumps(row) + "\n")
    for judge in ("parity-atomic", "parity-baseline"):
        lines = (source / f"replays/{judge}.jsonl").read_text().splitlines()
        answers = {row["trace_id"]: row for row in map(json.loads, lines)}
        with (folder / f"{judge}.jsonl").open("w") as out:
            for index in range(ROW_COUNT):
                row = answers[traces[index % len(traces)]["id"]]
                row = {**row, "trace_id": f"t{index}", "latency_ms": LATENCY_MS}
                out.write(json.dumps(row) + "\n")
    config = folder / "config.toml"
    config.write_text(
        "".join(
            f'[judges.{judge}]\ntype = "replay"\nfile = "{judge}.jsonl"\nsimulate_latency = true\n'
            for judge in ("parity-atomic", "parity-baseline")
        )
        + '[profiles.default]\natomic = "parity-atomic"\nfallback = "parity-baseline"\npolicy = "parity-v1"\n'
    )
    return folder / "data.jsonl", config


def children(name: str) -> dict[int, int]:
    """The processes of that name that this process has started, with their parents."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            command, rest = stat.rsplit(")", 1)
            parents[int(entry.name)] = (int(rest.split()[1]), command.split("(", 1)[1])

    def is_ours(process: int) -> bool:
        while process in parents and process != 1:
            process = parents[process][0]
            if process == os.getpid():
                return True
        return False

    return {
        process: parent
        for process, (parent, command) in parents.items()
        if command == name[:15] and is_ours(process)
    }


def kill_one(binary: str, out: Path, killed: list[int]) -> None:
    """Kills the worker of the first shard that has written a few rows."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not killed:
        written = [path for path in out.glob("shard-*.jsonl") if 5 < path.read_bytes().count(b"\n") < 60]
        running = children(Path(binary).name)
        for process, worker in running.items():
            try:
                command = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if any(str(path) in command for path in written):
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
                return
        time.sleep(0.02)


def main() -> None:
    """Evaluates on one machine and over Ray with a death, and compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="judge-cascade")
    binary = parser.parse_args().binary
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, config = fixtures(folder)
        single, sharded = folder / "single", folder / "sharded"
        command = [binary, "eval", "cascade", str(data), "--config", str(config), "--mode", "all"]
        subprocess.run([*command, "--quiet", "--out", str(single)], check=True, stdout=subprocess.DEVNULL)

        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
        killed: list[int] = []
        killer = threading.Thread(target=kill_one, args=(binary, sharded, killed))
        killer.start()
        arguments = [str(data), "--config", str(config), "--mode", "all", "--shards", "6"]
        arguments += ["--out", str(sharded), "--binary", binary]
        evaluate.evaluate(evaluate.parser().parse_args(arguments))
        killer.join()
        ray.shutdown()

        if not killed:
            sys.exit("no worker was killed in the middle of a shard")
        for report in REPORTS:
            if (single / report).read_bytes() != (sharded / report).read_bytes():
                sys.exit(f"{report} differs")
        print(f"worker {killed[0]} was killed; {', '.join(REPORTS)} are the same, byte for byte")


if __name__ == "__main__":
    main()
