"""Matrix products on one thread of the CPU, ours beside PyTorch's, in turns.

usage: products.py BENCH_PRODUCTS [--rounds N]

Ours are the program bench_products. Prints for each the median of the rounds in GFLOP/s, and the ratio. Needs
PyTorch.
"""

import argparse
import statistics
import time

import torch
from google_benchmark import medians_of
from torch import Tensor

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def operands_of(name: str) -> tuple[Tensor, Tensor, float]:
    """A, B and the FLOPs of their product; t: a transposed view."""
    type_name, _, sizes = name.partition("/")
    m, k, n = (int(size) for size in sizes.split(",")[:3])
    a_form, b_form = sizes.split(",")[3:]
    dtype = TYPES[type_name]
    a = torch.randn(k, m).to(dtype).t() if a_form == "t" else torch.randn(m, k).to(dtype)
    b = torch.randn(n, k).to(dtype).t() if b_form == "t" else torch.randn(k, n).to(dtype)
    return a, b, 2.0 * m * k * n


def seconds(a: Tensor, b: Tensor, flops: float) -> float:
    calls = max(3, int(1e10 / flops))
    c = a @ b
    for _ in range(3):
        torch.mm(a, b, out=c)
    begin = time.perf_counter()
    for _ in range(calls):
        torch.mm(a, b, out=c)
    return (time.perf_counter() - begin) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", metavar="BENCH_PRODUCTS")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    peers: dict[str, tuple[Tensor, Tensor, float]] = {}
    times: dict[str, tuple[list[float], list[float]]] = {}
    for _ in range(arguments.rounds):
        for name, of_ours in medians_of(arguments.program).items():
            if name not in peers:
                peers[name] = operands_of(name)
                times[name] = ([], [])
            times[name][0].append(of_ours * 1e-9)
            times[name][1].append(seconds(*peers[name]))
    print(f"GFLOP/s, one thread, PyTorch {torch.__version__}; m,k,n and what is transposed")
    print(f"{'':<24}{'napkin':>9}{'PyTorch':>9}  ratio")
    for name, of in times.items():
        own, theirs = (peers[name][2] / statistics.median(x) * 1e-9 for x in of)
        print(f"{name:<24}{own:>9.1f}{theirs:>9.1f}  {own / theirs:.2f}")


if __name__ == "__main__":
    main()
