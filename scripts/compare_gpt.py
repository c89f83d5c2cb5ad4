#!/usr/bin/env python3
"""The GPT of `./shardlings train` beside one of PyTorch's own layers with the same weights (for authors).

    /usr/bin/python3 scripts/compare_gpt.py [-n 2] [--parallel zero3]

The trainer goes on from a checkpoint with weights drawn here, for one step of plain SGD on its whole training set: the
order of the examples does not matter, and (before - after) / rate is the gradient. PyTorch computes losses, perplexity,
gradients and the step in float64: what the course differs by is its own rounding, and is shown beside that of PyTorch's
float32. Scores show in the gradient of head.weight, which holds the probability of every byte, and in a text that both
go on with. Three GPTs that are wrong on purpose must be refused.

Exit status: 1 if a deviation is above its bound, or a wrong GPT within all of them; 77 without PyTorch. Needs
python3-torch, for the distribution's Python.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("compare_gpt: no PyTorch; run it by a Python that has it")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ROOT / "notebooks_md/laboratory.md"
BEGIN = "The trainer"
CONTEXT, WIDTH, HEADS, LAYERS = 32, 32, 4, 4
TRAIN, TEST = 8, 16  # windows

# Each operation in float32 rounds to within 2^-24 of its result. Some 100 lie behind one another on the way to a
# gradient, sums of 32 to 256 products among them, each off by a few roundings. These mostly cancel: sqrt(100) times 4
# are 40 of them, and 256 leave room for processors that sum in another order.
ROUNDING = 2.0 ** -24
BOUND = 256 * ROUNDING

NAMES = {  # the course's, PyTorch's
    "attention_norm": "norm1", "queries_keys_values.": "self_attn.in_proj_", "attention_out": "self_attn.out_proj",
    "mlp_norm": "norm2", "mlp_in": "linear1", "mlp_out": "linear2"}


class Gpt(nn.Module):
    def __init__(self, norm_first=True, activation="gelu"):
        super().__init__()
        self.tokens = nn.Embedding(256, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0, activation=activation, batch_first=True,
                                       norm_first=norm_first) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 256, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.tokens(tokens) + self.places(torch.arange(length))
        for block in self.blocks:
            x = block(x, src_mask=later)
        return self.head(self.norm(x))


def unscale(model):
    """What divides the scores of attention is taken back in the queries."""
    for block in model.blocks:
        for parameter in block.self_attn.in_proj_weight, block.self_attn.in_proj_bias:
            parameter.data[:WIDTH] *= math.sqrt(WIDTH / HEADS)


WRONG = {
    "norms behind each layer": {"norm_first": False},
    "gelu by tanh": {"activation": lambda x: F.gelu(x, approximate="tanh")},
    "attention not scaled": {"change": unscale}}


def pytorch_name(name):
    name = re.sub(r"^block(\d+)\.", r"blocks.\1.", name)
    for ours, theirs in NAMES.items():
        name = name.replace(ours, theirs)
    return name


def load(weights, dtype, change=None, **options):
    model = Gpt(**options).to(dtype)
    model.load_state_dict({pytorch_name(name): weight for name, weight in weights.items()})
    if change:
        change(model)
    return model


def draw(weights):
    """Larger than fresh ones, with which attention is nearly even, and a gelu nearly a line: wrong ones would hide."""
    torch.manual_seed(1)
    return {name: 0.3 * torch.randn(weight.shape) + (1 if name.endswith("norm.weight") else 0)
            for name, weight in weights.items()}


def read_windows():
    """Of training and of test, (B, CONTEXT + 1) each: the bytes shown, and one more."""
    text = list(TEXT.read_bytes())
    cut = len(text) - len(text) // 10
    return [torch.tensor([part[i * CONTEXT:(i + 1) * CONTEXT + 1] for i in range(count)])
            for part, count in [(text[:cut], TRAIN), (text[cut:], TEST)]]


def loss_of(model, windows):
    return F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def continue_text(model):
    """BEGIN, and the likeliest byte again and again."""
    tokens = list(BEGIN.encode())
    for _ in range(CONTEXT):
        tokens.append(model(torch.tensor([tokens[-CONTEXT:]]))[0, -1].argmax().item())
    return bytes(tokens)


def train(ranks, folder, *options):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [str(word) for word in [
        ROOT / "shardlings", "train", "-n", ranks, "--model", "gpt", "--checkpoint", folder, "--context", CONTEXT,
        "--width", WIDTH, "--heads", HEADS, "--layers", LAYERS, *options]]
    run = subprocess.run(command, env=environment, capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {(run.stdout + run.stderr).decode(errors='replace')}")
    return run.stdout


def ask_course(arguments, folder):
    """Weights before and after a step, its rate, all numbers by name, and the text."""
    file, log = folder / "checkpoint.pt", folder / "log"
    ranks = arguments.ranks
    options = ["--parallel", arguments.parallel, "--text", TEXT, "--train-size", TRAIN, "--test-size", TEST,
               "--batch", TRAIN // ranks, "--momentum", 0, "--weight-decay", 0, "--rate", 2, "--steps", 2, "--log", log,
               *arguments.options.split()]

    def read():
        return torch.load(file, weights_only=True)

    def weights_of(saved):
        return {name[len("model."):]: saved[name] for name in saved if name.startswith("model.")}

    train(ranks, folder, *options, "--stop-after", 1)
    before = draw(weights_of(read()))
    torch.save({**read(), **{"model." + name: weight for name, weight in before.items()}}, file)
    said = train(1, folder, "--sample", BEGIN, "--temperature", 0, "--sample-bytes", CONTEXT)
    text = said[said.index(BEGIN.encode()):][:len(BEGIN) + CONTEXT]
    train(ranks, folder, *options, "--resume")
    after = weights_of(read())
    step, test = [json.loads(line) for line in log.read_text().splitlines()][-3:-1]
    numbers = {"loss": step["loss"], "test loss": test["test_loss"], "perplexity": test["perplexity"]}
    numbers = {name: torch.tensor(number, dtype=torch.float64) for name, number in numbers.items()}
    for name in before:
        numbers["after " + name] = after[name]
        numbers["gradient of " + name] = (before[name].double() - after[name].double()) / step["rate"]
    return before, after, step["rate"], numbers, text


def ask_pytorch(before, after, rate, dtype=torch.float64, **wrong):
    training, test = read_windows()
    model = load(before, dtype, **wrong)
    text = continue_text(model)
    loss = loss_of(model, training)
    loss.backward()
    test_loss = loss_of(load(after, dtype, **wrong), test)
    numbers = {"loss": loss, "test loss": test_loss, "perplexity": test_loss.exp()}
    torch.optim.SGD(model.parameters(), lr=rate).step()
    for name in before:
        parameter = model.get_parameter(pytorch_name(name))
        numbers["after " + name] = parameter
        numbers["gradient of " + name] = parameter.grad
    return {name: number.detach().double() for name, number in numbers.items()}, text


def row_of(name):
    return "weights after the step" if name.startswith("after ") else re.sub(r"block\d+", "block*", name)


def deviations(found, wanted):
    """By row, over the largest number that there should be. What is no number is off by all there is."""
    rows = {}
    for name, right in wanted.items():
        deviation = ((found[name] - right).abs().max() / right.abs().max()).nan_to_num(nan=math.inf, posinf=math.inf)
        rows[row_of(name)] = max(rows.get(row_of(name), 0), deviation.item())
    return rows


def bounds(wanted, rate):
    """BOUND; and for a gradient, what the rounded weights that it is read from leave open."""
    rows = {}
    for name, right in wanted.items():
        bound = BOUND
        if name.startswith("gradient of "):
            after = wanted[name.replace("gradient of", "after")]
            bound += (ROUNDING * after.abs().max() / (rate * right.abs().max())).item()
        rows[row_of(name)] = max(rows.get(row_of(name), 0), bound)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", type=int, default=1, choices=[1, 2, 4, 8])
    parser.add_argument("--parallel", default="average")
    parser.add_argument("--options", default="", help="more of the trainer's")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        before, after, rate, course, text = ask_course(options, pathlib.Path(folder))
    exact, exact_text = ask_pytorch(before, after, rate)
    float32, _ = ask_pytorch(before, after, rate, torch.float32)
    bound = bounds(exact, rate)
    ours, theirs = deviations(course, exact), deviations(float32, exact)
    failed = text != exact_text or any(ours[row] > bound[row] for row in bound)

    print(f"GPT of {LAYERS} blocks, PyTorch {torch.__version__}:",
          "-n", options.ranks, "--parallel", options.parallel, *options.options.split())
    print("largest deviation from PyTorch in float64, over the largest number")
    print(f"{'':<46}{'course':>9}{'PyTorch in float32':>20}{'bound':>9}")
    for row, limit in bound.items():
        print(f"{row:<46}{ours[row]:>9.1e}{theirs[row]:>20.1e}{limit:>9.1e}{'' if ours[row] <= limit else '  ABOVE'}")
    print(f"text after {BEGIN!r}: {'the same' if text == exact_text else f'{text} and {exact_text}: DIFFERENT'}")
    for what, wrong in WRONG.items():
        wanted, _ = ask_pytorch(before, after, rate, **wrong)
        over = {row: value / bound[row] for row, value in deviations(course, wanted).items()}
        worst = max(over, key=over.get)
        above = sum(value > 1 for value in over.values())
        failed |= above == 0
        print(f"wrong on purpose, {what}: {above} of {len(over)} above the bound, {worst} by {over[worst]:.0f} times")
    sys.exit(failed)


if __name__ == "__main__":
    main()
