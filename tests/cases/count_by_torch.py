#!/usr/bin/env python3
"""Rows of FLOP counts as PyTorch's FlopCounterMode gives them, in the form of data/flops.jsonl: what the recorded
corpus has little of, convolutions of all sorts and products some of whose operands need no gradient. Written once:
  count_by_torch.py >data/flops_torch.jsonl          (PyTorch 2.15.0, CPU)
"""
import json
import random

import torch
from torch.utils.flop_counter import FlopCounterMode

random.seed(20261121)


def count(f, operands, grad):
    """FLOPs forward, and backward for the operands that need a gradient."""
    xs = [torch.randn(s, requires_grad=g) for s, g in zip(operands, grad)]
    with FlopCounterMode(display=False) as forward:
        y = f(*xs)
    forward = forward.get_total_flops()
    if not any(grad):
        return forward, None
    with FlopCounterMode(display=False) as backward:
        y.backward(torch.randn_like(y))
    return forward, backward.get_total_flops()


def row(name, family, op, f, shapes, grad):
    forward, backward = count(f, shapes, grad)
    op = dict(op, shapes=shapes, flops=forward, grad=grad)
    return {
        "id": "", "name": name, "family": family, "ops": [op], "fwd": forward, "bwd": backward,
        "total": forward + (backward or 0), "total_of": "forward+backward" if backward is not None else "forward",
        "formula": "FlopCounterMode", "basis": "pytorch-run", "recount": "torch-dispatch",
        "source": "tests/cases/count_by_torch.py, PyTorch " + torch.__version__.split("+")[0],
    }


def convolutions():
    fs = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
    ts = {1: torch.nn.functional.conv_transpose1d, 2: torch.nn.functional.conv_transpose2d,
          3: torch.nn.functional.conv_transpose3d}
    for i in range(36):
        rank, transposed, groups = random.choice([1, 2, 2, 3]), i % 3 == 2, random.choice([1, 1, 2])
        pick = lambda low, high: [random.randint(low, high) for _ in range(rank)]
        cin, cout = groups * random.randint(1, 4), groups * random.randint(1, 4)
        x = [random.randint(1, 3), cin] + pick(7, 12)
        window = pick(1, 3)
        w = ([cin, cout // groups] if transposed else [cout, cin // groups]) + window
        keys = {"stride": pick(1, 3), "padding": [random.randint(0, (k - 1) // 2) for k in window],
                "dilation": pick(1, 2), "groups": groups}
        if transposed:
            keys["output_padding"] = [random.randint(0, max(s, d) - 1) for s, d in zip(keys["stride"], keys["dilation"])]
        grad = random.choice([[True, True], [True, False], [False, True], [False, False]])
        f = (ts if transposed else fs)[rank]
        op = {"op": ("conv_transpose%dd" if transposed else "conv%dd") % rank, **keys}
        yield row("convolution", "conv", op, lambda a, b: f(a, b, **keys), [x, w], grad)


def products():
    masks = [[True, True], [True, False], [False, True]]
    einsums = [
        ("b m k, b k n -> b m n", [[3, 4, 5], [3, 5, 6]]), ("m k, k -> m", [[4, 5], [5]]), ("k, k -> ", [[7], [7]]),
        ("a b c, c b d -> a d", [[3, 4, 5], [5, 4, 2]]), ("b h q d, b h k d -> b h q k", [[2, 3, 4, 5], [2, 3, 6, 5]]),
        ("m k, n k -> n m", [[4, 5], [6, 5]]), ("b s h d, h d e -> b s e", [[2, 3, 4, 5], [4, 5, 6]]),
        ("i j, j k -> k", [[3, 4], [4, 5]]), ("m k, k n -> m n", [[1, 5], [5, 1]]),
    ]
    for equation, shapes in einsums:
        names = sorted({n for n in equation.replace(",", " ").replace("->", " ").split()})
        letters = equation.replace("->", ">")
        for n in names:
            letters = " ".join(chr(97 + names.index(n)) if w == n else w for w in
                               letters.replace(",", " , ").replace(">", " > ").split())
        letters = letters.replace(" ", "").replace(">", "->")
        for grad in masks:
            yield row("einsum", "matmul", {"op": "einsum", "equation": equation},
                      lambda a, b: torch.einsum(letters, a, b), shapes, grad)
    for grad in masks:
        yield row("matrix product", "matmul", {"op": "mm"}, torch.mm, [[4, 5], [5, 6]], grad)
        yield row("batched matrix product", "matmul", {"op": "bmm"}, torch.bmm, [[2, 4, 5], [2, 5, 6]], grad)
        yield row("matrix by vector", "matmul", {"op": "matmul"}, torch.matmul, [[4, 5], [5, 6]], grad)
        yield row("linear layer", "matmul", {"op": "linear"}, torch.nn.functional.linear, [[2, 3, 5], [6, 5]], grad)
    for mask in [[True, True, True], [False, False, True], [True, True, False]]:
        yield row("with a bias", "matmul", {"op": "addmm"}, torch.addmm, [[6], [4, 5], [5, 6]], mask)
        yield row("batches with a bias", "matmul", {"op": "baddbmm"}, torch.baddbmm, [[2, 4, 6], [2, 4, 5], [2, 5, 6]], mask)
        yield row("linear layer with a bias", "matmul", {"op": "linear"}, torch.nn.functional.linear,
                  [[2, 3, 5], [6, 5], [6]], mask)


for number, r in enumerate([*convolutions(), *products()]):
    r["id"] = "torch-%03d" % number
    print(json.dumps(r))
