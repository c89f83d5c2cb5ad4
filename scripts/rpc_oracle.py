#!/usr/bin/env python3
"""The course's remote calls beside torch.distributed.rpc: the same programs on both, over TCP on this machine (for authors).

    ninja -C build/release rpc_program
    VENV/bin/python scripts/rpc_oracle.py [--only NAME...] [--all]

Runs each program on 2 or 3 processes of each, and compares the lines that its ranks say: values, errors, counts of references
and contexts, gradients, weights after steps. Prints a line for each program, and each line that is another one there. Where
PyTorch is another one on purpose, it says why. The exit status is 1 if anything else differs, and 77 where PyTorch 2 is
absent.

The programs: tests/course/remote_calls/ (ours), scripts/plain_rpc*.py (PyTorch's).
"""
import argparse
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/tests/course/rpc_program"
LIMIT_S = 60

# Lines in which PyTorch is another one: program, what, our value, why.
EXPECTED = [
    ("dead_callee", "graceful shutdown of the others", "returns",
     "PyTorch's needs the word of all ranks, and fails or waits without it; ours leaves out those that have died"),
    ("gradients_twice", "a third time, the second does not", "returns",
     "PyTorch frees the graph with a pass, but where retain_graph is said; ours keeps it until the context is released"),
    ("gradients_unused", "backward", "returns",
     "PyTorch's FAST mode waits for the gradient of all that was sent; ours looks first what the loss uses"),
    ("gradients_unused", "then, rank 0", "gradient float32 [2]: 2 3; 2 sends, 2 recvs, 1 contexts", "as above"),
    ("gradients_unused", "then, rank 1", "gradient float32 [2]: 1 2; 2 sends, 2 recvs, 1 contexts", "as above"),
    ("reference_made_late", "rank 2 has begun before", "no",
     "PyTorch's owner confirms a use before there is an object, and only who fetches it waits; ours when it is made"),
    ("remote_error", "its type here", "RemoteError",
     "PyTorch makes an exception of the same Python type; ours is of one type, and has rank, function and reason"),
    ("remote_error", "ranks that it names", "2",
     "PyTorch's text has the traces of all ranks that it passed; ours says where it was thrown first"),
    ("shapes", "strides of a transposed one", "int64 [2]: 2 1",
     "PyTorch keeps the strides; ours sends the elements in their order"),
    ("shapes", "requires a gradient without a context", "no",
     "PyTorch sends the flag, of which nothing comes back; ours is in DistAutograd, for calls in a context"),
    ("step_fails", "rank 2 has no such context", "remote error on rank 2",
     "PyTorch's step is a call in the context, which brings it there, without a gradient; ours is none: who owns a parameter "
     "and has never been called has no context"),
    ("step_fails", "a context that is over", "remote error on rank 1",
     "PyTorch's error says which context, and on no rank; ours both"),
]


def ours(name, ranks):
    """By rank, the lines."""
    with tempfile.TemporaryDirectory() as folder:
        all_ranks = [subprocess.Popen([PROGRAM, name, str(rank), str(ranks), f"{folder}/store"], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True) for rank in range(ranks)]
        try:
            return [process.communicate(timeout=LIMIT_S)[0].splitlines() for process in all_ranks]
        except subprocess.TimeoutExpired:
            return [["failed = it does not end"]]
        finally:
            for process in all_ranks:
                process.kill()
                process.wait()


def theirs(run, name, ranks):
    """By rank, the lines. `run` is plain_rpc's. Processes are forked: they have PyTorch already."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        all_ranks = []
        for rank in range(ranks):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=run, args=(name, rank, ranks, f"{folder}/store", writer))
            process.start()
            writer.close()  # the end of the process is the end of the pipe
            all_ranks.append((process, reader))
        try:
            return [said_by(reader) for _, reader in all_ranks]
        finally:
            for process, _ in all_ranks:
                process.kill()
                process.join()


def said_by(reader):
    if not reader.poll(LIMIT_S):
        return ["failed = it does not end"]
    try:
        return reader.recv()
    except EOFError:  # it died, as it was told
        return []


def why(name, line):
    """Why ours is another one; None if it should not be."""
    for program, what, value, reason in EXPECTED:
        if program == name and line == f"{what} = {value}":
            return reason
    return None


def compare(name, ranks):
    """Prints the program's line, and those that differ. Whether all is as it should be."""
    pairs = []
    for rank, (one, other) in enumerate(zip(ours(name, ranks), theirs(plain_rpc.run, name, ranks))):
        one += [""] * (len(other) - len(one))
        other += [""] * (len(one) - len(other))
        pairs += [(rank, mine, its) for mine, its in zip(one, other)]
    different = [pair for pair in pairs if pair[1] != pair[2]]
    wrong = [pair for pair in different if not why(name, pair[1])]
    verdict = "FAIL" if wrong or not pairs else "ok, differs" if different else "ok"
    print(f"{name:<26}{ranks} ranks {len(pairs) - len(different):>3} of {len(pairs):>2} lines agree   {verdict}", flush=True)
    for rank, mine, its in different:
        what, _, value = (mine or its).partition(" = ")
        print(f"    rank {rank}, {what}: ours {value if mine else 'says nothing'}; PyTorch's {its.partition(' = ')[2] or 'nothing'}")
        print(f"        {why(name, mine) or 'WRONG'}")
    return pairs, different, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of programs")
    parser.add_argument("--all", action="store_true", help="prints also what agrees")
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}")
    listed = subprocess.run([PROGRAM, "list"], capture_output=True, text=True, check=True).stdout.split()
    names = dict(zip(listed[::2], map(int, listed[1::2])))
    del names["speed"]  # for scripts/compare_rpc.py
    if names != {name: ranks for name, (ranks, _) in plain_rpc.PROGRAMS.items()}:
        sys.exit(f"other programs: ours {names}, PyTorch's {plain_rpc.PROGRAMS}")
    all_pairs, all_different, all_wrong = [], [], []
    for name, ranks in names.items():
        if not options.only or name in options.only:
            pairs, different, wrong = compare(name, ranks)
            all_pairs += pairs
            all_different += different
            all_wrong += wrong
            if options.all:
                for rank, mine, its in pairs:
                    if mine == its:
                        print(f"    rank {rank}, {mine}")
    print(f"{len(all_pairs)} lines: {len(all_pairs) - len(all_different)} agree, {len(all_different) - len(all_wrong)} differ "
          f"as expected, {len(all_wrong)} are wrong")
    return 1 if all_wrong or not all_pairs else 0


if __name__ == "__main__":
    try:
        import torch
        import torch.distributed
    except ImportError:
        torch = None
    if torch is None or int(torch.__version__.split(".")[0]) < 2:
        print("skipped: PyTorch 2 is not there. In a virtual environment: pip install torch")
        sys.exit(77)
    import plain_rpc
    import plain_rpc_autograd  # noqa: F401, its programs
    import plain_rpc_references  # noqa: F401
    sys.exit(main())
