#!/usr/bin/env python3
"""The training of compare_recovery.py as a plain PyTorch script, for torchrun to start and to start again (for authors).

    torchrun --standalone --nproc-per-node 2 --max-restarts 1 scripts/plain_elastic.py --folder DIR

A GPT of PyTorch's own layers, under DistributedDataParallel over Gloo, learns bytes of text. After each step rank 0 saves
weights, optimizer and position; whoever starts goes on from there. Each rank writes to DIR/rank-RANK what it has come to: JSON
lines with the time, which is the system's monotonic one. Needs PyTorch 2.
"""
import time

BEGIN = time.monotonic()  # before the import, which takes a while

import argparse
import json
import os
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTEXT, WIDTH, HEADS, LAYERS, BATCH, WINDOWS = 32, 32, 2, 2, 8, 2000


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 256, bias=False)

    def forward(self, tokens):
        later = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)
        x = self.tokens(tokens) + self.places(torch.arange(CONTEXT))
        for block in self.blocks:
            x = block(x, src_mask=later)
        return self.head(self.norm(x))


def read_windows():
    text = (ROOT / "notebooks_md/laboratory.md").read_bytes() * 10
    return torch.tensor([list(text[i * CONTEXT:(i + 1) * CONTEXT + 1]) for i in range(WINDOWS)])


def save(file, state):
    partial = file.with_suffix(".partial")
    with open(partial, "wb") as out:
        torch.save(state, out)
        out.flush()
        os.fsync(out.fileno())
    partial.rename(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    folder = parser.parse_args().folder
    log = open(folder / f"rank-{os.environ['RANK']}", "a")

    def tell(what, at=None):
        record = {"what": what, "restart": int(os.environ["TORCHELASTIC_RESTART_COUNT"]), "pid": os.getpid(),
                  "at": at or time.monotonic()}
        print(json.dumps(record), file=log, flush=True)

    tell("begun", BEGIN)
    tell("imported")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    tell("connected")
    rank, size = dist.get_rank(), dist.get_world_size()
    windows = read_windows()
    model = nn.parallel.DistributedDataParallel(Gpt())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    file, step = folder / "checkpoint.pt", 0
    if file.exists():
        state = torch.load(file)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    tell("loaded")
    while True:
        rows = (torch.arange(BATCH) + (step * size + rank) * BATCH) % WINDOWS
        optimizer.zero_grad()
        loss = F.cross_entropy(model(windows[rows, :-1]).flatten(0, 1), windows[rows, 1:].flatten())
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)  # as the course's trainer does: a step is one of all ranks
        step += 1
        tell("step")
        if rank == 0:
            save(file, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step})


if __name__ == "__main__":
    main()
