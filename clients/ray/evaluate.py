"""Evaluates a dataset in shards, each a Ray task, and merges the shards into one report.

Every worker needs the binary, the dataset, the configuration and the folder under the same paths. A shard whose worker
dies is tried again and goes on where it was; the report is the same, byte for byte, as that of one machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import ray

MAX_RETRIES = 5


@ray.remote(num_cpus=1, max_retries=MAX_RETRIES)
def shard(command: list[str], summary: str) -> str:
    """Runs one shard to its end."""
    resume = ["--resume"] if os.path.exists(summary) else []
    # The shard ends with its worker, so that a second try never writes beside a first one.
    run = subprocess.run(
        [*command, "--summary", summary, *resume],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=end_with_parent,
    )
    if run.returncode != 0:
        raise RuntimeError(f"{summary}: exit code {run.returncode}: {run.stderr.strip()}")
    return summary


def end_with_parent() -> None:
    """Lets the kernel end this process when its parent is gone (Linux)."""
    import ctypes
    import signal

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def evaluate(arguments: argparse.Namespace) -> None:
    """Runs all shards and merges them."""
    out = Path(arguments.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    data = str(Path(arguments.data).resolve())
    command = [arguments.binary, "eval", "cascade", data, "--profile", arguments.profile]
    command += ["--mode", arguments.mode, "--quiet"]
    if arguments.config:
        command += ["--config", str(Path(arguments.config).resolve())]
    if arguments.live:
        command += ["--live"]
    count = arguments.shards
    summaries = [str(out / f"shard-{index}-of-{count}.jsonl") for index in range(1, count + 1)]
    tasks = [
        shard.remote([*command, "--shard", f"{index}/{count}"], summary)
        for index, summary in enumerate(summaries, 1)
    ]
    done: list[str] = []
    while tasks:
        finished, tasks = ray.wait(tasks)
        done += ray.get(finished)
        print(f"{len(done)} of {count} shards", file=sys.stderr)
    merge = [arguments.binary, "eval", "merge", *summaries, "--data", data, "--out", str(out)]
    subprocess.run(merge, check=True, stdout=subprocess.DEVNULL)
    print(out / "report.md")


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="a dataset, JSONL")
    parser.add_argument("--config", help="the configuration")
    parser.add_argument("--profile", default="default", help="the profile")
    parser.add_argument("--mode", default="cascade", help="atomic_only, baseline_only, cascade or all")
    parser.add_argument("--live", action="store_true", help="asks judges over HTTP, which may cost money")
    parser.add_argument("--shards", type=int, default=8, help="into how many parts the dataset is cut")
    parser.add_argument("--out", default="evaluation", help="the folder of shards and reports")
    parser.add_argument("--binary", default="judge-cascade", help="the program, on every worker")
    parser.add_argument("--address", help="the Ray cluster; without it one is started here")
    return parser


def main() -> None:
    """Connects to Ray and evaluates."""
    arguments = parser().parse_args()
    if arguments.address:
        ray.init(address=arguments.address, log_to_driver=False)
    else:
        ray.init(log_to_driver=False, include_dashboard=False)
    evaluate(arguments)


if __name__ == "__main__":
    main()
