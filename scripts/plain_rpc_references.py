"""The programs of scripts/rpc_oracle.py on torch.distributed.rpc: remote references.

As scripts/plain_rpc.py. Counts are those of `_rref_context_get_debug_info`.
"""
import gc
import threading
import time

from torch.distributed import rpc
from torch.distributed.rpc import RRef, _rref_context_get_debug_info

from plain_rpc import HERE, at, kind_of_outcome, program, yes_or_no

LET_GO = threading.Event()


def make():
    return "made"


def make_late():
    LET_GO.wait()
    return "made late"


def let_go():
    LET_GO.set()


def create(value):
    HERE.kept.append(RRef(value))


def keep(reference):
    HERE.kept.append(reference)


def keep_for(to):
    rpc.rpc_sync(at(to), keep, (HERE.kept[0],))


def value(reference):
    return reference.local_value()


def drop():
    HERE.kept.clear()
    gc.collect()


def counts():
    info = _rref_context_get_debug_info()
    return f"{info['num_owner_rrefs']} owners, {info['num_forks']} forks, {info['num_pending_users']} pending"


def say_counts(when):
    gc.collect()
    time.sleep(0.2)
    for rank in range(HERE.ranks):
        HERE.say(f"{when}, rank {rank}", rpc.rpc_sync(at(rank), counts))


def give(reference, function, to):
    return rpc.rpc_sync(at(to), function, (reference,))


@program(2)
def reference_of_one():
    if HERE.rank == 0:
        mine = [rpc.remote(at(1), make)]
        say_counts("made")
        HERE.say("owner", mine[0].owner().id)
        HERE.say("its value", give(mine[0], value, 1))
        HERE.say("its value elsewhere", kind_of_outcome(mine[0].local_value))
        mine.append(mine[0])
        say_counts("copied here")
        mine.clear()
        say_counts("dropped")


@program(3)
def reference_passed_on():
    if HERE.rank == 0:
        mine = [rpc.remote(at(1), make)]
        give(mine[0], keep, 2)
        say_counts("rank 2 has it")
        mine.clear()
        say_counts("rank 0 dropped it")
        rpc.rpc_sync(at(2), keep_for, (0,))
        say_counts("rank 0 has it again")
        rpc.rpc_sync(at(2), drop)
        say_counts("rank 2 dropped it")
        HERE.say("its value", give(HERE.kept[0], value, 1))
        HERE.kept.clear()
        say_counts("all dropped it")


@program(3)
def reference_shared_by_owner():
    if HERE.rank == 0:
        rpc.rpc_sync(at(1), create, ("local",))
        say_counts("not shared")
        rpc.rpc_sync(at(1), keep_for, (0,))
        rpc.rpc_sync(at(1), keep_for, (2,))
        say_counts("two ranks have it")
        rpc.rpc_sync(at(1), drop)
        say_counts("its maker dropped it")
        HERE.say("its value", give(HERE.kept[0], value, 1))
        HERE.kept.clear()
        say_counts("rank 0 dropped it")
        rpc.rpc_sync(at(2), drop)
        say_counts("all dropped it")


@program(3)
def reference_comes_twice():
    if HERE.rank == 0:
        mine = [rpc.remote(at(1), make)]
        give(mine[0], keep, 2)
        give(mine[0], keep, 2)
        say_counts("rank 2 has it twice")
        give(mine[0], keep, 1)
        say_counts("its owner has it")
        give(mine[0], keep, 0)
        say_counts("rank 0 has it twice")
        mine.clear()
        rpc.rpc_sync(at(2), drop)
        HERE.kept.clear()
        say_counts("only its owner has it")
        rpc.rpc_sync(at(1), drop)
        say_counts("all dropped it")


@program(3)
def reference_made_late():
    if HERE.rank == 0:
        mine = [rpc.remote(at(1), make_late)]
        kept = rpc.rpc_async(at(2), keep, (mine[0],))
        fetched = rpc.rpc_async(at(1), value, (mine[0],))
        time.sleep(0.2)
        HERE.say("rank 2 has begun before", yes_or_no(kept.done()))
        HERE.say("the value is here before", yes_or_no(fetched.done()))
        rpc.rpc_sync(at(1), let_go)
        HERE.say("its value", fetched.wait())
        kept.wait()
        say_counts("made")
        mine.clear()
        rpc.rpc_sync(at(2), drop)
        say_counts("all dropped it")
