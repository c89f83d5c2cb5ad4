#!/usr/bin/env python3
"""From the death of a worker to the next step of all: launch, and PyTorch's torchrun beside it (for authors).

    scripts/compare_recovery.py --kills 20 --torchrun VENV/bin/torchrun

Kills rank 1 of a training in the middle of its steps, and measures until the run that goes on has made a step, which all ranks do
together. Prints the median of the kills, by part. Of launch, whose agent writes down what it notices:

  noticed     until the agent has seen that the rank is dead
  rendezvous  until the next round begins: the other ranks have ended
  start       processes, connections, the checkpoint, one step

Kills after which a run never goes on are counted by themselves.

With --torchrun, which needs PyTorch 2 from PyPI, scripts/plain_elastic.py follows, in turns with launch: the same model, batch,
and a checkpoint after each step. Its ranks tell what they have come to:

  noticed     until the other rank has ended
  begun       until the new rank 0 has begun, before it imports anything; if it had to be started more than once, the last one
  imported    until it has imported PyTorch
  connected   until the process group is there
  loaded      until the checkpoint is loaded
  step        until all have made a step
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from time_recovery import ROOT, lines, rank_process, until

STEPS = 30  # before the kill
HUNG_S = 20  # then torchrun's new ranks find each other no more: Gloo waits in createAndConnectAllPairs
RESTARTS = "3"  # at most: new ranks may fail to connect
TRAIN = "train --model gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 2000 --test-size 10 --batch 8 --steps 100000 --save-every 1"


def records(path: pathlib.Path, **wanted) -> list[dict]:
    """Of a file of JSON lines, of which the last one may be being written, those with these values."""
    whole = [json.loads(line) for line in lines(path) if line.endswith("}")]
    return [record for record in whole if wanted.items() <= record.items()]


def has_ended(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def kill(pid: int) -> float:
    at = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return at


def parts_of(killed: float, moments: dict[str, float]) -> dict[str, float]:
    """How long each part took, of moments in their order."""
    parts, before = {}, killed
    for name, at in moments.items():
        parts[name] = at - before
        before = at
    return {**parts, "together": before - killed}


@contextlib.contextmanager
def ending(agent: subprocess.Popen):
    """Tells an agent to end, and with it its ranks, however the block is left."""
    try:
        yield
    finally:
        agent.terminate()


def recover_by_launch(folder: pathlib.Path, ranks: int) -> dict[str, float]:
    command = [ROOT / "shardlings", "launch", "--nproc-per-node", str(ranks), "--max-restarts", RESTARTS,
               "--log-dir", folder / "logs", "--", *TRAIN.split(), "--checkpoint", folder / "run", "--log", folder / "log"]
    events = folder / "logs" / "events.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as agent, ending(agent):
        until(lambda: len(lines(folder / "log")) > STEPS, "steps of launch")
        killed = kill(until(lambda: rank_process(agent.pid, 1), "rank 1"))
        second = until(lambda: records(events, event="round")[1:], "a second round")[0]
        before = len(lines(folder / "log"))
        until(lambda: len(lines(folder / "log")) > before, "a step")
        done = time.monotonic()
        noticed = next(event for event in records(events, event="looked") if event["at_ms"] >= killed * 1000 - 1)
        agent.kill()  # its ranks end with it
    return parts_of(killed, {"noticed": noticed["at_ms"] / 1000, "rendezvous": second["at_ms"] / 1000, "start": done})


def recover_by_torchrun(torchrun: str, folder: pathlib.Path, ranks: int) -> dict[str, float]:
    command = [torchrun, "--standalone", "--nproc-per-node", str(ranks), "--max-restarts", RESTARTS, "--monitor-interval", "0.1",
               ROOT / "scripts" / "plain_elastic.py", "--folder", folder]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    logs = [folder / f"rank-{rank}" for rank in range(ranks)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as agent, ending(agent):
        until(lambda: len(records(logs[0], what="step")) > STEPS, "steps of torchrun")
        killed = kill(records(logs[1], what="begun")[0]["pid"])
        other = records(logs[0], what="begun")[0]["pid"]
        until(lambda: has_ended(other), "rank 0 ends", HUNG_S)
        moments = {"noticed": time.monotonic()}
        step = until(lambda: [one for one in records(logs[0], what="step") if one["restart"] > 0], "a step of torchrun's", HUNG_S)[0]
        for what in ["begun", "imported", "connected", "loaded"]:
            moments[what] = records(logs[0], what=what, restart=step["restart"])[0]["at"]
        moments["step"] = step["at"]
    return parts_of(killed, moments)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--torchrun", metavar="FILE")
    options = parser.parse_args()
    programs = {"launch": recover_by_launch}
    if options.torchrun:
        programs["torchrun"] = lambda folder, ranks: recover_by_torchrun(options.torchrun, folder, ranks)
    measured = {name: [] for name in programs}
    hung = {name: [] for name in programs}
    for _ in range(options.kills):
        for name, recover in programs.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    measured[name].append(recover(pathlib.Path(folder), options.ranks))
                except SystemExit as never:
                    hung[name].append(str(never))
    for name, kills in measured.items():
        print(f"{name}, {options.ranks} ranks, median of {len(kills)} kills (least, most), in seconds")
        if hung[name]:
            print(f"  and {len(hung[name])} after which it did not go on: {hung[name][0]}")
        for part in kills[0] if kills else []:
            values = [one[part] for one in kills]
            print(f"  {part:<11} {statistics.median(values):6.3f}  ({min(values):.3f}, {max(values):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
