#!/usr/bin/env python3
"""The trainer's recipe as a plain PyTorch script: what images per second are compared with.

    mpirun -n 2 scripts/plain_pytorch.py --data DIR --steps 20 --log peer.jsonl

PyTorch's DistributedDataParallel over Gloo on several ranks, the bare model on one; pictures, augmentation,
optimizer and schedule as `./shardlings train` has them. Writes one JSON line a step. For authors: needs the
distribution's python3-torch, which stands on the same LibTorch as libtorch-dev.
"""
import argparse
import json
import math
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.bn2(self.conv2(x))
        x += shortcut
        return F.relu(x, inplace=True)


def resnet34(stem):
    first = nn.Conv2d(3, 64, 3, 1, 1, bias=False) if stem == "cifar" else nn.Conv2d(3, 64, 7, 2, 3, bias=False)
    layers = [first, nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    if stem == "imagenet":
        layers.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for outputs, blocks in [(64, 3), (128, 4), (256, 6), (512, 3)]:
        for i in range(blocks):
            layers.append(BasicBlock(inputs, outputs, 2 if i == 0 and outputs != 64 else 1))
            inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    model = nn.Sequential(*layers)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model


def read_pictures(folder):
    records = b"".join((pathlib.Path(folder) / f"data_batch_{i}.bin").read_bytes() for i in range(1, 6))
    table = torch.frombuffer(bytearray(records), dtype=torch.uint8).view(-1, 3073)
    return table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].long()


MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)


def augment(pictures):
    """(B, 3, 32, 32) bytes -> normalised, moved by up to 4 pixels, half of them mirrored."""
    padded = (F.pad(pictures, (4, 4, 4, 4)).float() / 255 - MEAN) / STD
    out = torch.empty(pictures.shape)
    for i, (y, x, mirrored) in enumerate(torch.randint(0, 9, (len(pictures), 3)).tolist()):
        view = padded[i, :, y:y + 32, x:x + 32]
        out[i] = view.flip(2) if mirrored % 2 else view
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", choices=["resnet34", "resnet34-imagenet"], default="resnet34-imagenet")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
    size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = resnet34("imagenet" if options.model == "resnet34-imagenet" else "cifar")
    if size > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
        dist.init_process_group("gloo", rank=rank, world_size=size)
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    warm_up = options.steps // 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / (warm_up + 1) if s < warm_up
        else (1 + math.cos(math.pi * (s - warm_up) / (options.steps - warm_up))) / 2)
    pictures, labels = read_pictures(options.data)
    order = torch.randperm(len(pictures))[rank::size]
    with open(options.log if rank == 0 else os.devnull, "w") as log:
        for step in range(options.steps):
            begin = time.perf_counter()
            rows = order[torch.arange(step * options.batch, (step + 1) * options.batch) % len(order)]
            batch, wanted = augment(pictures[rows]), labels[rows]
            optimizer.zero_grad(set_to_none=size == 1)
            with torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bf16"):
                scores = model(batch).float()
            loss = F.cross_entropy(scores, wanted)
            loss.backward()
            optimizer.step()
            schedule.step()
            mean = torch.tensor([loss.item(), (scores.argmax(1) == wanted).float().mean().item()])
            if size > 1:
                dist.all_reduce(mean)
            seconds = time.perf_counter() - begin
            record = {"step": step + 1, "loss": mean[0].item() / size,
                      "images_per_s": size * options.batch / seconds}
            print(json.dumps(record), file=log, flush=True)


if __name__ == "__main__":
    main()
