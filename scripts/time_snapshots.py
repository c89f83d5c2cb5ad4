#!/usr/bin/env python3
"""What a checkpoint every few steps costs a training: written beside it (--async-save), and while it waits (for authors).

    scripts/time_snapshots.py                       # ResNet34 on 2 ranks, every 10 steps, 5 rounds
    scripts/time_snapshots.py --model small --rounds 2

Each round trains without checkpoints, with --async-save, and without it, in turns. The time of a step is that from the end of one step
to the end of the next, on average over whole intervals between checkpoints; the first interval warms up, and the checkpoint at a run's end
is not counted. Prints the time of a step, and its ratio to the one without checkpoints in the same round: median (least, most). For a
machine with nothing else to do.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = {"without": [], "async": ["--async-save"], "sync": []}


def step_s(options: argparse.Namespace, way: str) -> float:
    """Seconds of a step of one run, whose log comes through a pipe."""
    steps = options.every * (options.intervals + 1)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        command = [ROOT / "shardlings", "train", "-n", options.ranks, "--model", options.model, "--batch", options.batch,
                   "--parallel", options.parallel, "--steps", steps, "--train-size", options.batch * options.ranks * steps,
                   "--test-size", 2 * options.ranks, "--log", "/dev/stdout", *options.options.split(), *WAYS[way]]
        if way != "without":
            command += ["--checkpoint", pathlib.Path(folder) / "run", "--save-every", options.every]
        ended = {}
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                now = time.monotonic()
                record = json.loads(line) if line.startswith("{") else {}
                if "loss" in record:
                    ended[record["step"]] = now
        if run.returncode != 0 or len(ended) != steps:
            sys.exit(f"{way}: the training ends with {run.returncode} after {len(ended)} of {steps} steps")
    return (ended[steps] - ended[options.every]) / (steps - options.every)


def text(values: list[float], digits: int) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}, {max(values):.{digits}f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--model", default="resnet34")
    parser.add_argument("--parallel", default="ddp")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--every", type=int, default=10, help="steps from checkpoint to checkpoint")
    parser.add_argument("--intervals", type=int, default=5, help="between checkpoints, in each run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where checkpoints are written; default: a temporary one")
    parser.add_argument("--options", default="", help="more of the trainer's, as '--optimizer adamw'")
    options = parser.parse_args()
    measured = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way, seconds in measured.items():
            seconds.append(step_s(options, way))
    print(f"{options.model}, {options.ranks} ranks, a checkpoint every {options.every} steps, {options.rounds} rounds")
    for way, seconds in measured.items():
        ratios = [one / base for one, base in zip(seconds, measured["without"])]
        print(f"  {way:<8} {text([1000 * one for one in seconds], 1)} ms a step, ratio {text(ratios, 4)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
