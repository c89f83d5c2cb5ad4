#!/usr/bin/env python3
"""How long remote calls take: the course's and those of torch.distributed.rpc, in turns, over TCP on this machine (for authors).

    ninja -C build/release rpc_program
    VENV/bin/python scripts/compare_rpc.py [--turns 10]

Two processes of each, new ones in each turn: an empty call; a tensor of 1 MB there, there and back, and 8 of them under way at a
time. PyTorch's agent is TensorPipe with its transport uv and its channel basic, which is TCP; its empty call is of a function in
Python, and of one in TorchScript, which the callee runs without Python. Prints the median of the turns, the smallest and the
largest, and the median of PyTorch's time over ours, turn by turn, with its quartiles. Needs PyTorch 2 from PyPI, and a machine
with two cores that have nothing else to do.
"""
import argparse
import collections
import os
import statistics
import time

import torch
from torch.distributed import rpc

import plain_rpc
from plain_rpc import HERE, at, echo, program
from rpc_oracle import ours, theirs

SMALL = 3000  # calls
LARGE = 200
AT_A_TIME = 8
MEGABYTE = 1 << 20


def nothing():
    pass


@torch.jit.script
def scripted_nothing() -> None:
    pass


def take(_):
    pass


def say_time(what, calls, call):
    for _ in range(calls // 10):
        call()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    HERE.say(what, 1e6 * (time.perf_counter() - begin) / calls)


@program(2)
def speed():
    if HERE.rank == 0:
        megabyte = torch.ones(1 << 18)
        say_time("an empty call", SMALL, lambda: rpc.rpc_sync(at(1), nothing))
        say_time("an empty call, TorchScript", SMALL, lambda: rpc.rpc_sync(at(1), scripted_nothing))
        say_time("1 MB there", LARGE, lambda: rpc.rpc_sync(at(1), take, (megabyte,)))
        say_time("1 MB there and back", LARGE, lambda: rpc.rpc_sync(at(1), echo, (megabyte,)))
        under_way = collections.deque()

        def one_more():
            under_way.append(rpc.rpc_async(at(1), take, (megabyte,)))
            if len(under_way) == AT_A_TIME:
                under_way.popleft().wait()
        say_time("1 MB there, 8 at a time", LARGE, one_more)
        torch.futures.wait_all(list(under_way))


def times(said):
    return {what: float(value) for what, _, value in (line.partition(" = ") for line in said[0])}


def spread(values):
    return f"{statistics.median(values):>9.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    turns = []
    for _ in range(options.turns):
        turns.append((times(ours("speed", 2)), times(theirs(plain_rpc.run, "speed", 2))))
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"PyTorch {torch.__version__}; {options.turns} turns; load {load} on {os.cpu_count()} cores; us for each call")
    print(f"{'':<28}{'ours':<32}{'TensorPipe':<32}{'its time over ours':<24}ours, GB/s")
    for what in turns[0][1]:
        mine = what.partition(", TorchScript")[0]
        one = [turn[0][mine] for turn in turns]
        other = [turn[1][what] for turn in turns]
        ratios = [b / a for a, b in zip(one, other)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        ways = 2 if "back" in what else 1
        rate = f"{ways * MEGABYTE / statistics.median(one) / 1e3:.2f}" if "MB" in what else ""
        print(f"{what:<28}{spread(one):<32}{spread(other):<32}{f'{middle:.2f} ({low:.2f} to {high:.2f})':<24}{rate}")


if __name__ == "__main__":
    main()
