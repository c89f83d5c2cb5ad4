#!/usr/bin/env python3
"""Milliseconds of a step with each stage of ZeRO, `./shardlings bench zero` and scripts/plain_zero.py run in turns.

    LibTorch_ROOT=SITE-PACKAGES/torch scripts/compare_zero.py --python PYTHON

Give both the same LibTorch: PYTHON's. Prints for each way the median of all its steps, over its own DDP's, over the
course's DDP's, and each run's median: what they differ by is how far to trust a ratio. For authors, on a machine with
nothing else to do.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--model", default="resnet34-imagenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=10, help="steps of each way in a run")
    parser.add_argument("--runs", type=int, default=3, help="of each program, in turns")
    parser.add_argument("--python", default="python3", help="that has PyTorch from PyPI")
    options = parser.parse_args()
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       GLIBC_TUNABLES=os.environ.get("GLIBC_TUNABLES", ""))
    common = ["--model", options.model, "--batch", str(options.batch), "--rounds", str(options.rounds)]
    commands = {
        "course": [str(ROOT / "shardlings"), "bench", "zero", "-n", str(options.ranks), "--json"],
        "PyTorch": ["mpirun", "--bind-to", "none", "-n", str(options.ranks), options.python,
                    str(ROOT / "scripts/plain_zero.py")]}
    runs = {}
    version = {}
    for _ in range(options.runs):
        for whose, command in commands.items():
            run = subprocess.run([*command, *common], cwd=ROOT, env=environment, capture_output=True, text=True,
                                 check=False)
            if run.returncode != 0:
                sys.exit(f"{' '.join(command)}: {run.stdout}{run.stderr}")
            document = json.loads(run.stdout)
            version[whose] = document.get("pytorch", document.get("libtorch"))
            for way in document["ways"]:
                runs.setdefault((whose, way["name"]), []).append(way["steps_s"])
    median = {key: statistics.median(sum(all_runs, [])) for key, all_runs in runs.items()}
    print(f"{options.model}, {options.ranks} rank(s), {options.batch} pictures each; LibTorch {version['course']}, "
          f"PyTorch {version['PyTorch']}; ms")
    print(f"{'':<9}{'way':<17}{'ms':>8}{'over its ddp':>14}{'over ours':>11}  runs")
    for (whose, name), all_runs in runs.items():
        value = median[whose, name]
        print(f"{whose:<9}{name:<17}{1e3 * value:>8.1f}{value / median[whose, 'ddp']:>14.3f}"
              f"{value / median['course', 'ddp']:>11.3f}  "
              + " ".join(f"{1e3 * statistics.median(run):.1f}" for run in all_runs))


if __name__ == "__main__":
    main()
