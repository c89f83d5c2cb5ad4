"""The programs of scripts/rpc_oracle.py on torch.distributed.rpc: distributed autograd and its optimizer.

As scripts/plain_rpc.py. Counts are those of `_get_debug_info`, and of a context's send and recv functions.
"""
import contextlib
import threading
import time

import torch
from torch.distributed import autograd, rpc
from torch.distributed.optim import DistributedOptimizer

from plain_rpc import HERE, at, kind_of_outcome, outcome, program, text, within, yes_or_no

STEPS = 5


def weight():
    """Of this rank: r + 1, r + 2."""
    if not hasattr(HERE, "weight"):
        HERE.weight = torch.tensor([HERE.rank + 1.0, HERE.rank + 2.0], requires_grad=True)
    return HERE.weight


def times(x):
    return x * weight()


def down(x):
    y = x * weight()
    return y if HERE.rank == 0 else rpc.rpc_sync(at(HERE.rank - 1), down, (y,))


def up(x):
    y = x * weight()
    return y if HERE.rank + 1 == HERE.ranks else rpc.rpc_sync(at(HERE.rank + 1), up, (y,)) + y


def contexts():
    return autograd._get_debug_info()["num_autograd_contexts"]


def state(context):
    inside = autograd._retrieve_context(context)
    gradient = autograd.get_gradients(context).get(weight())
    return (f"gradient {text(gradient)}; {len(inside._send_functions())} sends, {len(inside._recv_functions())} recvs, "
            f"{contexts()} contexts")


def outside(call):
    """Calls in a thread of its own, which is in no context."""
    results = []
    thread = threading.Thread(target=lambda: results.append(outcome(call)))
    thread.start()
    thread.join()
    return results[0]


def say_state(when, context, ranks):
    for rank in ranks:
        HERE.say(f"{when}, rank {rank}", outside(lambda: rpc.rpc_sync(at(rank), state, (context,))))


def say_contexts(when):
    time.sleep(0.2)
    for rank in range(HERE.ranks):
        HERE.say(f"{when}, contexts of rank {rank}", rpc.rpc_sync(at(rank), contexts))


def call(to, function, *arguments):
    return rpc.rpc_sync(at(to), function, arguments)


@program(2)
def gradients_one_call():
    if HERE.rank == 0:
        with autograd.context() as context:
            y = call(1, times, weight())
            say_state("called", context, [0, 1])
            autograd.backward(context, [y.sum()])
            say_state("backward", context, [0, 1])
            HERE.say(".grad", yes_or_no(weight().grad is not None))
        say_contexts("released")
        HERE.say("then", kind_of_outcome(lambda: autograd.get_gradients(context)))


@program(2)
def gradients_nested():
    if HERE.rank == 0:
        with autograd.context() as context:
            x = weight() * 2
            y = call(1, down, x)
            autograd.backward(context, [(y * x).sum()])
            say_state("backward", context, [0, 1])
        say_contexts("released")


@program(3)
def gradients_three_hops():
    if HERE.rank == 0:
        with autograd.context() as context:
            y = call(1, up, weight())
            z = call(2, down, y)
            autograd.backward(context, [z.sum(), y.sum()])
            say_state("backward", context, [0, 1, 2])
        say_contexts("released")


MEETING = threading.Barrier(2)


def meet():
    MEETING.wait()


@program(3)
def gradients_two_contexts():
    if HERE.rank != 1:
        with autograd.context() as context:
            y = call(1, times, weight())
            call(1, meet)
            autograd.backward(context, [(y * (HERE.rank + 1)).sum()])
            call(1, meet)
            say_state("backward", context, [HERE.rank, 1])
            call(1, meet)
        call(1, meet)
        say_contexts("released")


@program(2)
def gradients_twice():
    if HERE.rank == 0:
        with autograd.context() as context:
            loss = call(1, times, weight() * 3).sum()
            autograd.backward(context, [loss], retain_graph=True)
            say_state("once", context, [0, 1])
            autograd.backward(context, [loss])
            say_state("twice, the first retains the graph", context, [0, 1])
            HERE.say("a third time, the second does not",
                     within(3, lambda: autograd.backward(context, [loss]) or "returns"))


def plus_one(x):
    return x + 1


def mix(x, wide, whole):
    return x * wide, x * whole


@contextlib.contextmanager
def said_context(what):
    with autograd.context() as context:
        yield context
        say_state(what, context, [0, 1])


@program(2)
def gradients_kinds():
    if HERE.rank == 0:
        with said_context("no gradients"):
            call(1, plus_one, torch.tensor([1.0, 2.0]))
        with said_context("of the result alone") as context:
            autograd.backward(context, [call(1, times, torch.tensor([5.0, 6.0])).sum()])
        with said_context("dtypes and roots") as context:
            wide = torch.tensor([3.0, 1.0], dtype=torch.float64, requires_grad=True)
            out = call(1, mix, weight(), wide, torch.tensor([2, 7]))
            autograd.backward(context, [out[0].sum(), out[1].sum(), (weight() * 2).sum()])
            HERE.say("of a float64", text(autograd.get_gradients(context)[wide]))
        with said_context("changed in place") as context:
            h = weight() * 3
            y = call(1, times, h)
            h.mul_(10)
            autograd.backward(context, [y.sum()])


@program(2)
def gradients_unused():
    if HERE.rank == 0:
        with autograd.context() as context:
            used = call(1, times, weight())
            unused = call(1, times, weight())
            HERE.say("backward", within(3, lambda: autograd.backward(context, [used.sum()]) or "returns"))
            say_state("then", context, [0, 1])
            del unused


class FailsLater(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x * 1

    @staticmethod
    def backward(_, gradient):
        raise ValueError("not today")


def fails_later(x):
    return FailsLater.apply(x)


def relay_failure(x):
    return call(2, fails_later, x * 2)


@program(3)
def gradients_errors():
    if HERE.rank == 0:
        with autograd.context() as context:
            def backward(where, roots):
                return kind_of_outcome(lambda: autograd.backward(where, roots) or "returns")
            y = call(1, times, weight())
            HERE.say("no roots", backward(context, []))
            HERE.say("two elements", backward(context, [y]))
            HERE.say("a leaf", backward(context, [torch.ones((), requires_grad=True)]))
            HERE.say("no gradient", backward(context, [torch.ones(1).sum()]))
            HERE.say("unknown context", backward(context + 12345, [y.sum()]))
            HERE.say("a context in a context", kind_of_outcome(autograd._new_context))
            failing = call(1, relay_failure, weight()).sum()
            HERE.say("two hops away", outcome(lambda: autograd.backward(context, [failing]) or "returns"))
        say_contexts("released")


def unused_parameter():
    if not hasattr(HERE, "unused"):
        HERE.unused = torch.tensor([5.0], requires_grad=True)
    return HERE.unused


def weights():
    return f"{text(weight())}; {text(unused_parameter())}"


def parameters_of(owners):
    return [rpc.remote(at(owner), function) for owner in owners for function in (weight, unused_parameter)]


def take_steps(kind, **options):
    if HERE.rank == 0:
        optimizer = DistributedOptimizer(kind, parameters_of([1, 2]), **options)
        for _ in range(STEPS):
            with autograd.context() as context:
                error = call(2, times, call(1, times, torch.tensor([0.3, 0.7]))) - 1
                loss = (error * error).sum()
                autograd.backward(context, [loss])
                optimizer.step(context)
            HERE.say("loss", text(loss))
        HERE.say("rank 1", call(1, weights))
        HERE.say("rank 2", call(2, weights))


@program(3)
def steps_sgd():
    take_steps(torch.optim.SGD, lr=0.1)


@program(3)
def steps_momentum():
    take_steps(torch.optim.SGD, lr=0.05, weight_decay=0.01, momentum=0.9)


@program(3)
def steps_nesterov():
    take_steps(torch.optim.SGD, lr=0.05, momentum=0.8, nesterov=True)


@program(3)
def steps_adamw():
    take_steps(torch.optim.AdamW, lr=0.02, weight_decay=0.1)


@program(3)
def step_fails():
    if HERE.rank == 0:
        owners = [rpc.remote(at(owner), weight) for owner in (1, 2)]
        optimizer = DistributedOptimizer(torch.optim.SGD, owners, lr=0.1)
        with autograd.context() as context:
            autograd.backward(context, [call(1, times, weight()).sum()])
            HERE.say("rank 2 has no such context", kind_of_outcome(lambda: optimizer.step(context)))
            HERE.say("rank 1", outside(lambda: rpc.rpc_sync(at(1), weights)))
            HERE.say("rank 2", outside(lambda: rpc.rpc_sync(at(2), weights)))
        HERE.say("a context that is over", kind_of_outcome(lambda: optimizer.step(context)))
