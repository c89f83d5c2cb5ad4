#!/usr/bin/env python3
"""Our store beside PyTorch's own, in both directions (for authors).

    ninja -C build/release store_program
    VENV/bin/python scripts/real_stores.py [--ranks 4] [--clients 64]

Needs PyTorch 2 from PyPI; the course's own tests ask LibTorch's client (tests/course/stores/). Each check prints a line;
the exit status is 1 if one fails, and 77 where PyTorch 2 is absent.
"""

import argparse
import datetime
import multiprocessing
import pathlib
import subprocess
import sys
import threading
import time

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/tests/course/store_program"
HOST = "127.0.0.1"
failed = []


def say(name, right, more=""):
    print(f"{'ok  ' if right else 'FAIL'}  {name}{': ' + more if more else ''}", flush=True)
    if not right:
        failed.append(name)


class OurServer:
    """store_program serve, as long as it is needed."""

    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return int(self.process.stdout.readline())

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class TheirServer:
    def __init__(self, libuv):
        self.libuv = libuv

    def __enter__(self):
        self.store = dist.TCPStore(HOST, 0, None, True, wait_for_workers=False, use_libuv=self.libuv)
        return self.store.port

    def __exit__(self, *_):
        del self.store


def client(port, seconds=4.0):
    return dist.TCPStore(
        HOST, port, None, False, datetime.timedelta(seconds=seconds), wait_for_workers=False
    )


def answers(port, libuv=True):
    """What each call returns, or the kind of its exception. The older server has no queues and no list."""
    store, other = client(port), client(port)
    short = datetime.timedelta(milliseconds=200)
    found = []

    def ask(name, call):
        try:
            result = call()
        except Exception as error:  # the texts name hosts and times
            result = type(error).__name__
        found.append((name, sorted(result) if name == "list_keys" else result))

    ask("set", lambda: store.set("a", "xyz"))
    ask("get", lambda: store.get("a"))
    for amount in 5, 2, -10:
        ask("add", lambda: store.add("n", amount))
    ask("get", lambda: store.get("n"))
    for expected, desired in ("old", "new"), ("", "new"), ("zzz", "q"), ("new", "q"):
        ask("compare_set", lambda: store.compare_set("m", expected, desired))
    ask("check", lambda: store.check(["a", "nokey"]))
    ask("check", lambda: store.check(["a", "n"]))
    ask("check of nothing", lambda: store.check([]))
    ask("wait", lambda: store.wait(["a", "n"]))
    ask("wait for nokey", lambda: store.wait(["nokey"], short))
    ask("get after a timeout", lambda: store.get("a"))
    ask("set late", lambda: other.set("nokey", "y"))
    ask("get late", lambda: store.get("nokey"))
    ask("get after late", lambda: store.get("a"))
    ask("num_keys", lambda: store.num_keys())
    ask("delete_key", lambda: store.delete_key("m"))
    ask("delete_key again", lambda: store.delete_key("m"))
    ask("append", lambda: store.append("a", "123"))
    ask("append fresh", lambda: store.append("f", "1"))
    ask("multi_get", lambda: store.multi_get(["a", "f"]))
    ask("multi_set", lambda: store.multi_set(["p", "q"], ["1", "22"]))
    ask("multi_get", lambda: store.multi_get(["q", "p"]))
    ask("large", lambda: store.set("large", "v" * (8 << 20)))
    ask("large", lambda: len(store.get("large")))
    ask("clone", lambda: store.clone().get("a"))
    if libuv:
        ask("queue_push", lambda: store.queue_push("Q", "hello"))
        ask("queue_push", lambda: store.queue_push("Q", "world"))
        ask("queue_len", lambda: store.queue_len("Q"))
        ask("check of a queue", lambda: store.check(["Q"]))
        ask("num_keys beside a queue", lambda: store.num_keys())
        ask("queue_pop", lambda: store.queue_pop("Q"))
        ask("queue_pop", lambda: store.queue_pop("Q", block=False))
        ask("queue_pop of an empty one", lambda: store.queue_pop("Q", block=False))
        ask("check of an empty queue", lambda: store.check(["Q"]))
        ask("list_keys", lambda: store.list_keys())
        if hasattr(store, "barrier"):
            ask("barrier of 1", lambda: store.barrier("B", 1, short))
            ask("barrier of 2, alone", lambda: store.barrier("B2", 2, short))
        ask("two pops, one push", lambda: two_pops(port))
        ask("get at the end", lambda: store.get("a"))
    return found


def two_pops(port):
    """Two wait for one queue, and two values come one after the other: each gets one."""
    got = []

    def pop():
        got.append(client(port).queue_pop("R"))

    threads = [threading.Thread(target=pop) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    store = client(port)
    store.queue_push("R", "1")
    time.sleep(0.2)
    store.queue_push("R", "2")
    for thread in threads:
        thread.join()
    return sorted(got)


def compare(name, ours, theirs):
    different = [f"{one[0]}: ours {one[1]!r}, PyTorch's {other[1]!r}" for one, other in zip(ours, theirs) if one != other]
    say(name, not different and len(ours) == len(theirs), "; ".join(different) or f"{len(ours)} answers are the same")


def clients_of_pytorch():
    for libuv in True, False:
        with OurServer() as port:
            ours = answers(port, libuv)
        with TheirServer(libuv) as port:
            theirs = answers(port, libuv)
        compare(f"PyTorch's client, our server against PyTorch's ({'libuv' if libuv else 'the older one'})", ours, theirs)


def our_client():
    def lines(port):
        return subprocess.run([PROGRAM, "call", str(port)], capture_output=True, text=True).stdout.splitlines()

    with OurServer() as port:
        ours = lines(port)
    for libuv in True, False:
        with TheirServer(libuv) as port:
            theirs = lines(port)
        name = f"our client, PyTorch's server ({'libuv' if libuv else 'the older one'}) against ours"
        say(name, ours == theirs and len(ours) > 15, f"{len(ours)} lines" if ours == theirs else f"{ours} {theirs}")


def many_clients(port, clients, results):
    def one(i):
        store = client(port, 30)
        if store.add("here", 1) == clients:
            store.set("all", "yes")
        results[i] = store.get("all")

    threads = [threading.Thread(target=one, args=(i,)) for i in range(clients)]
    begin = time.time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.time() - begin


def reduce_on(port, rank, ranks, queue):
    store = client(port, 30)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    data = torch.arange(1000, dtype=torch.float32) * (rank + 1)
    dist.all_reduce(data)
    factor = ranks * (ranks + 1) // 2
    queue.put(bool(torch.equal(data, torch.arange(1000, dtype=torch.float32) * factor)))
    dist.barrier()
    dist.destroy_process_group()


def process_group(ranks):
    context = multiprocessing.get_context("fork")
    with OurServer() as port:
        queue = context.Queue()
        all_ranks = [context.Process(target=reduce_on, args=(port, rank, ranks, queue)) for rank in range(ranks)]
        for process in all_ranks:
            process.start()
        right = [queue.get(timeout=60) for _ in all_ranks]
        for process in all_ranks:
            process.join(60)
        ended = all(process.exitcode == 0 for process in all_ranks)
    say(f'init_process_group("gloo", store=...) on our server, all-reduce of {ranks} processes', all(right) and ended)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--clients", type=int, default=64)
    arguments = parser.parse_args()
    print(f"PyTorch {torch.__version__}")
    process_group(arguments.ranks)
    clients_of_pytorch()
    our_client()
    with OurServer() as port:
        results = [None] * arguments.clients
        seconds = many_clients(port, arguments.clients, results)
        say(f"{arguments.clients} clients of PyTorch at once", results == [b"yes"] * arguments.clients, f"{seconds:.2f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        torch = None
    if torch is None or int(torch.__version__.split(".")[0]) < 2:
        print("skipped: PyTorch 2 is not there. In a virtual environment: pip install torch")
        sys.exit(77)
    sys.exit(main())
