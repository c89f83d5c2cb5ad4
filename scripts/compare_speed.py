#!/usr/bin/env python3
"""Images per second of `./shardlings train` over those of scripts/plain_pytorch.py, run in turns.

    scripts/compare_speed.py --data DIR -n 1 -n 2

Prints, for each number of ranks and each way of --parallel, the median and the best tenth of all steps but each
run's first three, the ratio, and each run's median: what they differ by is how far to trust the ratio. All runs have
the same malloc, GLIBC_TUNABLES as it is here. For authors, on a machine with nothing else to do.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def speeds(log):
    """images_per_s of the steps in a log, without the first three."""
    records = [json.loads(line) for line in pathlib.Path(log).read_text().splitlines()]
    return [record["images_per_s"] for record in records if "loss" in record][3:]


def best_tenth(values):
    return statistics.mean(sorted(values)[-max(1, len(values) // 10):])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("-n", "--ranks", type=int, action="append")
    parser.add_argument("--model", default="resnet34-imagenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--options", default="", help="more of the trainer's, as '--channels-last'")
    parser.add_argument("--python", default="/usr/bin/python3", help="that has PyTorch")
    options = parser.parse_args()
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       GLIBC_TUNABLES=os.environ.get("GLIBC_TUNABLES", ""))  # or train would set its own
    common = ["--data", options.data, "--model", options.model, "--batch", str(options.batch),
              "--steps", str(options.steps), "--dtype", options.dtype]
    for ranks in options.ranks or [1, 2]:
        ways = ["none"] if ranks == 1 else ["average", "ddp"]
        measured = {way: [] for way in [*ways, "pytorch"]}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.rounds):
                for way in measured:
                    log = f"{folder}/log.jsonl"
                    command = (["mpirun", "--bind-to", "none", "-n", str(ranks), options.python,
                                str(ROOT / "scripts/plain_pytorch.py")] if way == "pytorch" else
                               [str(ROOT / "shardlings"), "train", "-n", str(ranks), "--parallel", way,
                                "--test-size", "64", *options.options.split()])
                    run = subprocess.run([*command, *common, "--log", log], cwd=ROOT, env=environment,
                                         capture_output=True, text=True, check=False)
                    if run.returncode != 0:
                        sys.exit(f"{' '.join(command)}: {run.stdout}{run.stderr}")
                    measured[way].append(speeds(log))
        print(f"{options.model} {options.dtype}, {ranks} rank(s), {options.batch} pictures each; images/s")
        print(f"{'way':<10}{'median':>9}{'best 10%':>10}{'over PyTorch':>14}{'best over best':>16}  runs")
        peer = sum(measured["pytorch"], [])
        for way, runs in measured.items():
            values = sum(runs, [])
            print(f"{way:<10}{statistics.median(values):>9.1f}{best_tenth(values):>10.1f}"
                  f"{statistics.median(values) / statistics.median(peer):>14.3f}"
                  f"{best_tenth(values) / best_tenth(peer):>16.3f}  "
                  + " ".join(f"{statistics.median(run):.1f}" for run in runs), flush=True)


if __name__ == "__main__":
    main()
