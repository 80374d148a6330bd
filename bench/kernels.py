"""Fused kernels on one thread of the CPU, ours beside PyTorch's, in turns.

usage: kernels.py BENCH_KERNELS [--rounds N]

Ours are the program bench_kernels. PyTorch's are the same expressions, eagerly and by torch.compile; the better
of the two counts. Prints for each the median of the rounds in nanoseconds an element, and the ratio. Needs
PyTorch 2.4 or later and, to compile, a C++ compiler.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from google_benchmark import medians_of
from torch import Tensor
from torch.nn import functional

# As in bench/kernels.cpp.
ROWS, COLUMNS = 32, 768
SEQ, HEADS, HIDDEN = 128, 3, 64
ITEMS, KINDS = 2048, 12
CHANNELS, HEIGHT, WIDTH = 16, 48, 32


def causal_attention(a: Tensor, b: Tensor, g: Tensor, shown: Tensor) -> Tensor:
    q, k = (x.view(SEQ, HEADS, HIDDEN).transpose(0, 1).unsqueeze(0) for x in (a, b))
    return functional.scaled_dot_product_attention(q, k, q, is_causal=True)


TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64}
EXPRESSIONS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "add": lambda a, b, g, shown: a + b,
    "multiply_add": lambda a, b, g, shown: a * b + a,
    "bias_gelu": lambda a, b, g, shown: functional.gelu(a + g, approximate="tanh"),
    "swiglu": lambda a, b, g, shown: functional.silu(a) * b,
    "exp": lambda a, b, g, shown: a.exp(),
    "sum_of_rows": lambda a, b, g, shown: a.sum(1),
    "sum_of_columns": lambda a, b, g, shown: a.sum(0),
    "squared_error": lambda a, b, g, shown: functional.mse_loss(a, b),
    "softmax": lambda a, b, g, shown: a.softmax(1),
    "masked_softmax": lambda a, b, g, shown: (a * 0.125).masked_fill(~shown, -1e30).softmax(1),
    "layer_norm": lambda a, b, g, shown: functional.layer_norm(a, (COLUMNS,), g, g),
    "sum_of_12": lambda a, b, g, shown: a.view(ITEMS, KINDS).sum(1),
    "softmax_of_12": lambda a, b, g, shown: a.view(ITEMS, KINDS).softmax(1),
    "max_pool": lambda a, b, g, shown: functional.max_pool2d(a.view(1, CHANNELS, HEIGHT, WIDTH), 2),
    "max_pool_channels_last": lambda a, b, g, shown: functional.max_pool2d(
        a.view(1, HEIGHT, WIDTH, CHANNELS).permute(0, 3, 1, 2), 2
    ),
    "causal_attention": causal_attention,
}


def nanoseconds(f: Callable[..., Tensor], *operands: Tensor, calls: int = 200) -> float:
    for _ in range(5):
        f(*operands)
    begin = time.perf_counter_ns()
    for _ in range(calls):
        f(*operands)
    return (time.perf_counter_ns() - begin) / calls / (ROWS * COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", metavar="BENCH_KERNELS")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    peers: dict[str, list[tuple[Callable[..., Tensor], tuple[Tensor, ...]]]] = {}
    for type_name, dtype in TYPES.items():
        shown = torch.randn(ROWS, COLUMNS) < 0
        operands = (*torch.randn(2, ROWS, COLUMNS).to(dtype), torch.randn(COLUMNS).to(dtype), shown)
        for name, expression in EXPRESSIONS.items():
            ways = [expression, torch.compile(expression, dynamic=False)]
            peers[f"{type_name}/{name}"] = [(way, operands) for way in ways]
    times: dict[str, list[list[float]]] = {name: [[], [], []] for name in peers}
    for _ in range(arguments.rounds):
        for name, of_ours in medians_of(arguments.program).items():
            times[name][0].append(of_ours / (ROWS * COLUMNS))
            for of_way, (way, operands) in zip(times[name][1:], peers[name]):
                of_way.append(nanoseconds(way, *operands))
    print(f"nanoseconds an element, of {ROWS * COLUMNS}, one thread, PyTorch {torch.__version__}")
    print(f"{'':<28}{'napkin':>9}{'eager':>9}{'compiled':>9}  the better / ours")
    for name, of in times.items():
        ours_, eager, compiled = (statistics.median(x) for x in of)
        print(f"{name:<28}{ours_:>9.3f}{eager:>9.3f}{compiled:>9.3f}  {min(eager, compiled) / ours_:.2f}")


if __name__ == "__main__":
    main()
