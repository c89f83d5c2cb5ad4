#!/usr/bin/env python3
"""From the death of a worker to the next step of all others: restart, and quorum_step, in turns (for authors).

    scripts/time_recovery.py --kills 20

Kills rank 1 of a training in the middle of its steps, and measures until the others log a step that it had no part in. Prints the
median of the kills, by part.

restart      noticed (until the agent has seen it), rendezvous (until the next round: the other ranks have ended), and start
             (processes, connections, the checkpoint, one step)
quorum_step  noticed, and step (a quorum without it, connections, one step); and back: until it takes steps again itself, which
             keeps nobody waiting
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
LIMIT_S = 300
TRAIN = "train --model gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 2000 --test-size 10 --steps 100000"
BATCH = 8  # of each rank


def until(condition, what: str, limit_s: float = LIMIT_S):
    """Looks every millisecond; the value, once it is true. SystemExit, with what it never came to."""
    end = time.monotonic() + limit_s
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


def launch(folder: pathlib.Path, ranks: int, words: list[str]) -> subprocess.Popen:
    command = [ROOT / "shardlings", "launch", "--nproc-per-node", str(ranks), "--max-restarts", "1", "--log-dir", folder / "logs",
               "--", *TRAIN.split(), *words, "--log", folder / "log"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill_rank_1(agent: int) -> float:
    process = until(lambda: rank_process(agent, 1), "rank 1")
    killed = time.monotonic()
    os.kill(process, signal.SIGKILL)
    return killed


def seen_by_agent(folder: pathlib.Path, killed: float) -> float:
    return next(e for e in events(folder, "looked") if e["at_ms"] >= killed * 1000 - 1)["at_ms"] / 1000


def restart(ranks: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        words = ["--batch", str(BATCH), "--checkpoint", str(folder / "run"), "--save-every", "1"]
        with launch(folder, ranks, words) as agent:
            until(lambda: len(lines(folder / "log")) > 30, "30 steps")
            killed = kill_rank_1(agent.pid)
            until(lambda: len(events(folder, "round")) > 1, "a second round")
            before = len(lines(folder / "log"))
            until(lambda: len(lines(folder / "log")) > before, "a step")
            done = time.monotonic()
            noticed = seen_by_agent(folder, killed)
            second = events(folder, "round")[1]["at_ms"] / 1000
            agent.terminate()  # and its workers, which write in that folder
    return {"noticed": noticed - killed, "rendezvous": second - noticed, "start": done - second, "together": done - killed}


def last_step(log: pathlib.Path) -> int:
    whole = [line for line in lines(log)[-2:] if line.endswith("}")]
    return json.loads(whole[-1])["step"] if whole else 0


def quorum_step(ranks: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with launch(folder, ranks, ["--fault-tolerant", "--global-batch", str(BATCH * ranks)]) as agent:
            others = [folder / f"log.{rank}.1" for rank in range(ranks) if rank != 1]
            until(lambda: min(map(last_step, others)) > 30, "30 steps")
            killed = kill_rank_1(agent.pid)
            # in the step after its last line it may have had a part still
            until(lambda: min(map(last_step, others)) > last_step(folder / "log.1.1") + 1, "a step without it")
            done = time.monotonic()
            until(lambda: last_step(folder / "log.1.2") > 0, "a step with it")
            back = time.monotonic()
            noticed = seen_by_agent(folder, killed)
            agent.terminate()  # and its workers, which write in that folder
    return {"noticed": noticed - killed, "step": done - noticed, "together": done - killed, "back": back - killed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    measured = [(restart(options.ranks), quorum_step(options.ranks)) for _ in range(options.kills)]
    print(f"{options.ranks} ranks, median of {options.kills} kills (least, most), in seconds")
    for name, kills in zip(("restart", "quorum_step"), zip(*measured)):
        print(name)
        for part in kills[0]:
            values = [one[part] for one in kills]
            print(f"  {part:<11} {statistics.median(values):6.3f}  ({min(values):.3f}, {max(values):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
