#!/usr/bin/env python3
"""Trains again and again under launch, with a fault at a random step of each run, and compares with a run that nothing disturbed.

    scripts/try_faults.py --runs 100

Each run has 60 steps on 4 ranks; rank, step and kind of its fault follow from the seed: SIGKILL, SIGSTOP, exit, an exception.
Its losses and its last checkpoint have to be those of the undisturbed run, bit for bit, each step once; and when it has
ended no process of it may live, and no file be left but what was asked for.

Ends with 0 if all of that holds for all runs, with 1 if not.
"""

import argparse
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = 4
STEPS = 60
TRAIN = "train --model small --train-size 320 --test-size 20 --batch 8 --save-every 7 --timeout 4"


def run(folder: pathlib.Path, fault: str, words: list[str]) -> subprocess.CompletedProcess:
    """One training in `folder`, which gets its log and its checkpoint."""
    command = [ROOT / "shardlings", "launch", "--nproc-per-node", str(RANKS), "--max-restarts", "3", "--"]
    command += shlex.split(TRAIN) + ["--steps", str(STEPS), "--checkpoint", folder / "run", "--log", folder / "log", *words]
    environment = {**os.environ, "SHARDLINGS_FAULT": fault, "TMPDIR": str(folder)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def steps_of(folder: pathlib.Path) -> list[tuple[int, float]]:
    records = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return [(record["step"], record["loss"]) for record in records if "loss" in record and "test_accuracy" not in record]


def processes_of(folder: pathlib.Path) -> list[str]:
    found = subprocess.run(["pgrep", "-af", str(folder)], capture_output=True, text=True, check=False)
    return found.stdout.splitlines()


def faults_of(one: pathlib.Path, whole: pathlib.Path, ended: subprocess.CompletedProcess) -> list[str]:
    """What is wrong with a run; nothing if it is as it has to be."""
    wrong = []
    if ended.returncode != 0:
        return [f"it ends with {ended.returncode}: {ended.stderr[-400:]}"]
    if "restart 1 of 3" not in ended.stderr:
        wrong.append("there was no restart")
    if [step for step, _ in steps_of(one)] != list(range(1, STEPS + 1)):
        wrong.append(f"steps: {[step for step, _ in steps_of(one)]}")
    if steps_of(one) != steps_of(whole):
        wrong.append("other losses")
    if (one / "run" / "checkpoint.pt").read_bytes() != (whole / "run" / "checkpoint.pt").read_bytes():
        wrong.append("another last checkpoint")
    if living := processes_of(one):
        wrong.append(f"processes live on: {living}")
    if left := {path.name for path in one.iterdir()} - {"run", "log"}:
        wrong.append(f"files are left: {left}")
    if left := {path.name for path in (one / "run").iterdir()} - {"checkpoint.pt"}:
        wrong.append(f"files are left in the checkpoint's folder: {left}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("words", nargs="*", help="what train is given besides, after --: --parallel zero3")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        whole = pathlib.Path(temporary) / "whole"
        whole.mkdir()
        ended = run(whole, "", options.words)
        if ended.returncode != 0:
            sys.exit(f"the undisturbed run ends with {ended.returncode}: {ended.stderr}")
        for number in range(1, options.runs + 1):
            one = pathlib.Path(temporary) / f"run{number}"
            one.mkdir()
            kind = draw.choice(["kill", "stop", "exit", "throw"])
            rank, step = draw.randrange(RANKS), draw.randrange(1, STEPS + 1)
            begin = time.monotonic()
            wrong = faults_of(one, whole, run(one, f"{rank}:{step}:{kind}:1", options.words))
            bad += bool(wrong)
            print(
                f"run {number:3}: {kind:5} of rank {rank} before step {step:2}, {time.monotonic() - begin:4.1f} s: "
                f"{'; '.join(wrong) or 'as if nothing had been'}",
                flush=True,
            )
    print(f"{options.runs - bad} of {options.runs} end as the run that nothing disturbed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
