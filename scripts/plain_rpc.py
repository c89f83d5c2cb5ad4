"""The programs of scripts/rpc_oracle.py on torch.distributed.rpc: calls and remote references.

Each has the name, and says the lines, of one of tests/course/remote_calls/, where its purpose stands. For authors: needs
PyTorch 2 from PyPI.
"""
import contextlib
import os
import re
import threading
import time
import types

import torch
from torch.distributed import rpc

PROGRAMS = {}
HERE = types.SimpleNamespace()  # of this process: rank, ranks, say, and what functions leave here


def program(ranks):
    def add(function):
        PROGRAMS[function.__name__] = (ranks, function)
        return function
    return add


def run(name, rank, ranks, file, lines):
    """One rank of a program; its lines go into `lines`, a queue."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its agents warn of ends
    os.environ.update(TP_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    said = []
    HERE.__dict__.update(rank=rank, ranks=ranks, say=lambda what, value: said.append(f"{what} = {value}"), kept=[], notes=0)
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{file}", _transports=["uv"], _channels=["basic"])
    rpc.init_rpc(at(rank), rank=rank, world_size=ranks, rpc_backend_options=options)
    try:
        PROGRAMS[name][1]()
    except Exception as error:
        HERE.say("failed", f"{type(error).__name__}: {error}")
    lines.send(said)
    with contextlib.suppress(RuntimeError):  # the program has shut it down
        rpc.shutdown()
    os._exit(0)  # threads may still wait


def at(rank):
    return f"rank{rank}"


def text(value):
    if value is None:
        return "none"
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        row = torch.view_as_real(plain) if plain.is_complex() else plain
        numbers = "".join(f" {x:.9g}" for x in row.double().flatten().tolist())
        return f"{str(value.dtype)[6:]} {list(value.shape)}:{numbers}"
    return str(value)


def error_text(error):
    said = str(error)
    there = (re.findall(r"On WorkerInfo\(id=(\d+), name=\w+\):\s+\w+\(['\"](.*?)['\"]\)", said)  # of calls
             or re.findall(r"Error on Node (\d+): ([^:]*)$", said)  # of backward
             or re.findall(r"On WorkerInfo\(id=(\d+)()", said))  # longer reasons
    if there:
        return f"remote error on rank {there[-1][0]}: {there[-1][1]}"
    return "timeout" if "RPC ran for more than set timeout" in said else "error"


def outcome(call):
    try:
        return text(call())
    except Exception as error:
        return error_text(error)


def kind_of_outcome(call):
    result = outcome(call)
    return result.split(":")[0] if result.startswith("remote error") else result


def within(seconds, call):
    """What the call returns, or that it does not."""
    results = []
    thread = threading.Thread(target=lambda: results.append(outcome(call)), daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else f"does not return within {seconds} s"


def yes_or_no(holds):
    return "yes" if holds else "no"


def add(a, b):
    return a + b


def echo(x):
    return x


def greet(name):
    return f"hello {name}"


def number(value):
    return torch.tensor(value)


@program(2)
def sync_async():
    if HERE.rank == 0:
        HERE.say("sync", text(rpc.rpc_sync(at(1), add, (number(2), number(3)))))
        for future in [rpc.rpc_async(at(1), add, (number(i), number(10))) for i in range(5)]:
            HERE.say("async", text(future.wait()))


@rpc.functions.async_execution
def hold():
    HERE.held = torch.futures.Future()
    return HERE.held


def let_go(value):
    while not hasattr(HERE, "held"):  # functions begin in any order
        time.sleep(0.001)
    HERE.held.set_result(value)
    return "second"


@program(3)
def out_of_order():
    if HERE.rank == 0:
        first = rpc.rpc_async(at(1), hold)
        HERE.say("other", rpc.rpc_async(at(2), echo, ("other rank",)).wait())
        HERE.say("the first is done before", yes_or_no(first.done()))
        HERE.say("second", rpc.rpc_sync(at(1), let_go, ("first",)))
        HERE.say("first", first.wait())


def twice(x):
    return rpc.rpc_sync(at(HERE.rank), add, (x, x))


@program(2)
def to_oneself():
    HERE.say("add", text(rpc.rpc_sync(at(HERE.rank), add, (number(HERE.rank), number(1)))))
    HERE.say("in each other", text(rpc.rpc_sync(at(HERE.rank), twice, (number(21),))))


def bounce(left):
    if left == 0:
        return number(HERE.rank)
    return rpc.rpc_sync(at(1 - HERE.rank), bounce, (left - 1,)) * 10 + HERE.rank


@program(2)
def there_and_back():
    if HERE.rank == 0:
        for depth in 0, 1, 2, 7:
            HERE.say(f"depth {depth}", text(rpc.rpc_sync(at(1), bounce, (number(depth),))))


def around(left, row):
    row = row * 10 + HERE.rank
    return row if left == 0 else rpc.rpc_sync(at((HERE.rank + 1) % HERE.ranks), around, (left - 1, row))


@program(3)
def ring():
    HERE.say("came by", text(rpc.rpc_sync(at((HERE.rank + 1) % HERE.ranks), around, (number(HERE.ranks - 1), number(7)))))


@program(2)
def dtypes():
    if HERE.rank == 0:
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                      torch.float32, torch.float64, torch.complex64):
            tensor = torch.tensor([1, 2, 3.5, 0, 100]).to(dtype)
            HERE.say("sum", text(rpc.rpc_sync(at(1), add, (tensor, tensor))))
        HERE.say("bool", text(rpc.rpc_sync(at(1), echo, (torch.tensor([1.0, 0, 2]).bool(),))))


@program(2)
def shapes():
    if HERE.rank == 0:
        row = torch.tensor([1.0, 2, 3, 4, 5, 6])
        transposed = row.view(2, 3).t()
        for tensor in torch.tensor(8.0), row.view(1, 2, 3, 1), row.view(2, 3)[0:0], row[1:6:2], transposed:
            HERE.say("echo", text(rpc.rpc_sync(at(1), echo, (tensor,))))
        HERE.say("strides of a transposed one", text(torch.tensor(rpc.rpc_sync(at(1), echo, (transposed,)).stride())))
        HERE.say("a hundred tensors", len(rpc.rpc_sync(at(1), echo, ([row] * 100,))))
        back = rpc.rpc_sync(at(1), echo, (torch.ones(1, requires_grad=True),))
        HERE.say("requires a gradient without a context", yes_or_no(back.requires_grad))


@program(2)
def both_ways():
    large = torch.full((4 << 20,), HERE.rank + 1.0)
    for future in [rpc.rpc_async(at(1 - HERE.rank), add, (large, 1)) for _ in range(2)]:
        HERE.say("16 MB", text(future.wait().double().sum()))


def divide():
    raise ValueError("by zero")


def relay_division():
    return rpc.rpc_sync(at(2), divide)


@program(3)
def remote_error():
    if HERE.rank == 0:
        HERE.say("one hop", outcome(lambda: rpc.rpc_sync(at(1), divide)))
        HERE.say("two hops", outcome(lambda: rpc.rpc_sync(at(1), relay_division)))
        HERE.say("to oneself", outcome(lambda: rpc.rpc_sync(at(0), divide)))
        HERE.say("afterwards", outcome(lambda: rpc.rpc_sync(at(1), greet, ("you",))))
        try:
            rpc.rpc_sync(at(1), divide)
        except Exception as error:
            HERE.say("its type here", type(error).__name__)
        try:
            rpc.rpc_sync(at(1), relay_division)
        except Exception as error:
            HERE.say("ranks that it names", " ".join(re.findall(r"WorkerInfo\(id=(\d+)", str(error))))


@program(2)
def unknown_function():
    if HERE.rank == 0:
        def only_here():
            return 1
        only_here.__qualname__ = "only_here"
        globals()["only_here"] = only_here
        HERE.say("unknown there", kind_of_outcome(lambda: rpc.rpc_sync(at(1), only_here)))
        HERE.say("afterwards", outcome(lambda: rpc.rpc_sync(at(1), greet, ("you",))))


def slow():
    time.sleep(0.4)
    HERE.notes += 1
    return HERE.notes


def notes():
    return HERE.notes


@program(2)
def deadlines():
    if HERE.rank == 0:
        HERE.say("of this call", outcome(lambda: rpc.rpc_sync(at(1), slow, timeout=0.1)))
        time.sleep(0.7)
        HERE.say("it ran there", rpc.rpc_sync(at(1), notes))
        HERE.say("the next call", outcome(lambda: rpc.rpc_sync(at(1), slow)))
        begun = rpc.rpc_async(at(1), slow)
        rpc._set_rpc_timeout(0.1)
        HERE.say("begun before the default changed", outcome(begun.wait))
        HERE.say("by default", outcome(lambda: rpc.rpc_sync(at(1), slow)))
        time.sleep(0.5)
        HERE.say("none", outcome(lambda: rpc.rpc_sync(at(1), slow, timeout=0)))
        rpc._set_rpc_timeout(60)


@program(2)
def refusals():
    if HERE.rank == 0:
        HERE.say("no such rank", outcome(lambda: rpc.rpc_sync(at(7), greet, ("you",))))
    rpc.shutdown()
    HERE.say("a call after the shutdown", outcome(lambda: rpc.rpc_sync(at(1), greet, ("you",))))


def die():
    os._exit(0)


@program(3)
def dead_callee():
    if HERE.rank == 0:
        HERE.say("before", outcome(lambda: rpc.rpc_sync(at(1), greet, ("you",))))
        HERE.say("the call under way", outcome(lambda: rpc.rpc_sync(at(1), die)))
        HERE.say("the next call", outcome(lambda: rpc.rpc_sync(at(1), greet, ("you",))))
        HERE.say("another rank", outcome(lambda: rpc.rpc_sync(at(2), greet, ("you",))))
    HERE.say("graceful shutdown of the others", within(5, lambda: rpc.shutdown(timeout=3) or "returns"))


def note():
    time.sleep(0.2)
    HERE.notes += 1


def spread():
    time.sleep(0.2)
    for _ in range(3):
        rpc.rpc_async(at(2), note)


@program(3)
def graceful_shutdown():
    if HERE.rank == 0:
        rpc.rpc_async(at(1), spread)
    rpc.shutdown()
    HERE.say("calls that ran here", HERE.notes)
