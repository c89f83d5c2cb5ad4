#!/usr/bin/env python3
"""Steps of a ResNet34 with PyTorch's own stages of ZeRO: what `./shardlings bench zero` is compared with.

    mpirun -n 2 scripts/plain_zero.py --rounds 15

DistributedDataParallel, ZeroRedundancyOptimizer under it (stages 1 and 2 of its state, with whole gradients), and
fully_shard of each block, over Gloo, in one set of processes: a step of each in turn, with a model each. Prints one
JSON document. For authors: needs PyTorch from PyPI, 2.6 or newer.
"""
import argparse
import json
import os
import random
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F

from plain_pytorch import BasicBlock, resnet34

SGD = {"lr": 1e-3, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}


def ways(names, stem, ranks):
    """A model and its optimizer for each name, all with the same weights."""
    made = {}
    for name in names:
        torch.manual_seed(1)
        model = resnet34(stem)
        if name == "fully_shard":
            mesh = init_device_mesh("cpu", (ranks,))
            for block in model.modules():
                if isinstance(block, BasicBlock):
                    fully_shard(block, mesh=mesh)
            fully_shard(model, mesh=mesh)
        else:
            model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
        if name == "zero_redundancy":
            optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, **SGD)
        else:
            optimizer = torch.optim.SGD(model.parameters(), **SGD)
        made[name] = (model, optimizer)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["resnet34", "resnet34-imagenet"], default="resnet34-imagenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ways", default="ddp,zero_redundancy,fully_shard")
    options = parser.parse_args()
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
    ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29513")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    made = ways(options.ways.split(","), "imagenet" if options.model == "resnet34-imagenet" else "cifar", ranks)
    seconds = {name: [] for name in made}
    warm_up = 2
    for step in range(warm_up + options.rounds):
        torch.manual_seed(1000 * step + rank)
        pictures, labels = torch.randn(options.batch, 3, 32, 32), torch.randint(10, (options.batch,))
        for name in random.Random(step).sample(sorted(made), len(made)):
            model, optimizer = made[name]
            dist.barrier()
            begin = time.perf_counter()
            optimizer.zero_grad()
            F.cross_entropy(model(pictures), labels).backward()
            optimizer.step()
            slowest = torch.tensor([time.perf_counter() - begin])
            dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
            if step >= warm_up:
                seconds[name].append(slowest.item())
    if rank == 0:
        print(json.dumps({"pytorch": torch.__version__, "ways": [
            {"name": name, "median_s": statistics.median(all_s), "steps_s": all_s}
            for name, all_s in seconds.items()]}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
