#!/usr/bin/env python3
"""Repeats a bench, quiet or beside a load that comes and goes, and compares what the runs conclude.

    scripts/try_verdicts.py --runs 20 --load 1 -- all_reduce -n 2,4 --sizes 4K,64K,1M,16M --algorithms naive,ring,mpi

No two runs may contradict each other: none may find naive faster, or the two level, where another one finds ring faster,
and the stretches in which a crossing lies must have a place in common. A run that leaves a size undecided contradicts nobody.

Ends with 0 if no two runs do, with 1 if two do.
"""

import argparse
import itertools
import json
import multiprocessing
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def burn(seed: int) -> None:
    """Takes a core for 0.2 to 3 s, leaves it for 0.2 to 3 s, and so on: the times follow from the seed."""
    draw = random.Random(seed)
    while True:
        until = time.monotonic() + draw.uniform(0.2, 3.0)
        while time.monotonic() < until:
            pass
        time.sleep(draw.uniform(0.2, 3.0))


def measure(words: list[str], seed: int | None) -> dict:
    """One run, beside two processes that burn unless there is no seed."""
    load = [] if seed is None else [multiprocessing.Process(target=burn, args=(2 * seed + i,), daemon=True) for i in (0, 1)]
    for one in load:
        one.start()
    try:
        ran = subprocess.run([ROOT / "shardlings", "bench", *words, "--json"], capture_output=True, text=True, check=False)
    finally:
        for one in load:
            one.terminate()
            one.join()
    if ran.returncode != 0:
        sys.exit(f"the bench failed:\n{ran.stderr}")
    return json.loads(ran.stdout)


def by_ranks(document: dict) -> dict[int, dict]:
    runs = document.get("runs", [document])
    return {run["ranks"]: run for run in runs if run["ranks"] > 1}


def leads(run: dict) -> dict[int, str]:
    return {int(one["bytes"]): one["second_is"] for one in run["verdict"]["standings"]}


def contradictions(runs: list[dict]) -> list[str]:
    """Of verdicts on the same number of ranks."""
    found = []
    for (i, a), (j, b) in itertools.combinations(enumerate(runs, 1), 2):
        for size in sorted(leads(a).keys() & leads(b).keys()):
            if len({leads(a)[size], leads(b)[size]} - {"undecided"}) == 2:
                found.append(f"{size} bytes: run {i} has ring {leads(a)[size]}, run {j} {leads(b)[size]}")
        for one, other in itertools.product(a["verdict"]["crossings"], b["verdict"]["crossings"]):
            same = one["faster_from_here"] == other["faster_from_here"]
            if same and (one["high_bytes"] < other["low_bytes"] or other["high_bytes"] < one["low_bytes"]):
                found.append(f"run {i} crosses at {interval(one)}, run {j} at {interval(other)}")
    return found


def interval(crossing: dict) -> str:
    return f"{crossing['low_bytes'] / 1024:.4g} to {crossing['high_bytes'] / 1024:.4g} KiB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--load", type=int, help="seed of the first run's load; none: quiet")
    parser.add_argument("words", nargs="+", help="what bench is given, after --")
    options = parser.parse_args()
    documents = []
    for run in range(options.runs):
        begin = time.monotonic()
        documents.append(measure(options.words, None if options.load is None else options.load + run))
        for ranks, one in by_ranks(documents[-1]).items():
            at_most = max((point["efficiency"] or 0) for point in one["points"])
            print(
                f"run {run + 1:2}, {ranks} ranks, {time.monotonic() - begin:3.0f} s, efficiency to {at_most:.2f}: "
                f"{one['verdict']['in_words']}",
                flush=True,
            )
    contradicted = 0
    for ranks in by_ranks(documents[0]):
        runs = [by_ranks(one)[ranks] for one in documents]
        decided = sum(any(lead in ("ahead", "behind") for lead in leads(run).values()) for run in runs)
        wholly = sum(all(lead != "undecided" for size, lead in leads(run).items() if not between(run, size)) for run in runs)
        found = contradictions(runs)
        contradicted += len(found)
        print(
            f"{ranks} ranks: {decided} of {len(runs)} runs decide something, {wholly} all sizes asked for; "
            f"{len(found)} contradictions"
        )
        print("".join(f"  {one}\n" for one in found), end="")
    return 1 if contradicted else 0


def between(run: dict, size: int) -> bool:
    return any(point["size_bytes"] == size and not point["asked_for"] for point in run["points"])


if __name__ == "__main__":
    sys.exit(main())
