#!/usr/bin/env python3
"""From the death of a worker to the next step of all: launch, and PyTorch's torchrun where PyTorch is there (for authors).

    scripts/time_recovery.py --kills 20

Kills rank 1 of a training in the middle of its steps, and measures until the run that goes on logs a step. Prints the median of
the kills, by part: noticed (until the agent has seen it), rendezvous (until the next round: the other ranks have ended), and
start (processes, connections, the checkpoint, one step). With --torchrun, which needs PyTorch 2 from PyPI, a plain PyTorch
script with the same model, batch and checkpoint follows, in turns.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 60
TRAIN = "train --model gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 2000 --test-size 10 --batch 8 --steps 100000 --save-every 1"


def until(condition, what: str):
    """Looks every millisecond; the value, once it is true."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.001)
    sys.exit(f"it never came to this: {what}")


def lines(path: pathlib.Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def events(folder: pathlib.Path, kind: str) -> list[dict]:
    whole = [line for line in lines(folder / "logs" / "events.jsonl") if line.endswith("}")]
    return [event for event in map(json.loads, whole) if event["event"] == kind]


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def rank_process(agent: int, rank: int) -> int | None:
    for pid in children(agent):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"RANK={rank}".encode() in environment:
            return pid
    return None


def one_kill(ranks: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        command = [ROOT / "shardlings", "launch", "--nproc-per-node", str(ranks), "--max-restarts", "1",
                   "--log-dir", folder / "logs", "--", *TRAIN.split(), "--checkpoint", folder / "run", "--log", folder / "log"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as agent:
            until(lambda: len(lines(folder / "log")) > 30, "30 steps")
            killed = time.monotonic()
            os.kill(until(lambda: rank_process(agent.pid, 1), "rank 1"), signal.SIGKILL)
            until(lambda: len(events(folder, "round")) > 1, "a second round")
            before = len(lines(folder / "log"))
            until(lambda: len(lines(folder / "log")) > before, "a step")
            done = time.monotonic()
            noticed = next(e for e in events(folder, "looked") if e["at_ms"] >= killed * 1000 - 1)["at_ms"] / 1000
            second = events(folder, "round")[1]["at_ms"] / 1000
            agent.send_signal(signal.SIGKILL)
    return {"noticed": noticed - killed, "rendezvous": second - noticed, "start": done - second, "together": done - killed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    measured = [one_kill(options.ranks) for _ in range(options.kills)]
    print(f"launch, {options.ranks} ranks, median of {options.kills} kills (least, most), in seconds")
    for part in measured[0]:
        values = [one[part] for one in measured]
        print(f"  {part:<11} {statistics.median(values):6.3f}  ({min(values):.3f}, {max(values):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
