"""A training step of the training program's model, ours beside PyTorch's, in turns on the same threads.

usage: train_step.py BENCH_TRAIN_STEP [--seq 128|1024] [--dtype f32|bf16] [--threads N] [--rounds N]

Ours is the program bench_train_step. PyTorch's is the same model, optimizer and clipping, eagerly and by
torch.compile, with its own fused attention and AdamW, in bf16 by autocast; the better of the two counts. Prints the
median of the rounds of each and their ratio. Needs PyTorch 2.4 or later and, to compile, a C++ compiler.
"""

import argparse
import json
import statistics
import subprocess
import time

import torch
from torch import Tensor, nn
from torch.nn import functional

# As in bench/language_model.hpp.
TOKENS, VOCAB, EMBED, FFN, HEADS, LAYERS = 2048, 256, 128, 352, 4, 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(EMBED, eps=1e-5), nn.RMSNorm(EMBED, eps=1e-5)
        self.qkv = nn.Linear(EMBED, 3 * EMBED, bias=False)
        self.out = nn.Linear(EMBED, EMBED, bias=False)
        self.gate_up = nn.Linear(EMBED, 2 * FFN, bias=False)
        self.down = nn.Linear(FFN, EMBED, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        heads = self.qkv(self.attention_norm(x)).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind()
        mixed = functional.scaled_dot_product_attention(
            rotate(query, cos, sin), rotate(key, cos, sin), value, is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Llama(nn.Module):
    def __init__(self, seq: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, EMBED)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(EMBED, eps=1e-5)
        self.head = nn.Linear(EMBED, VOCAB, bias=False)
        width = EMBED // HEADS
        angles = torch.outer(torch.arange(seq), 10000.0 ** (-torch.arange(0, width, 2) / width)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return functional.cross_entropy(self.head(self.norm(x)).view(-1, VOCAB), targets.view(-1))


class Peer:
    """PyTorch's step, eager or compiled."""

    def __init__(self, seq: int, dtype: str, compiled: bool) -> None:
        torch.manual_seed(1)
        self.in_bf16 = dtype == "bf16"
        self.model = Llama(seq)
        self.loss = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.tokens, self.targets = torch.randint(VOCAB, (2, TOKENS // seq, seq))

    def step(self) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.in_bf16):
            loss = self.loss(self.tokens, self.targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def milliseconds(self, steps: int = 5) -> float:
        self.step()
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        return (time.perf_counter() - begin) / steps * 1e3


def ours(program: str, seq: int, dtype: str, threads: int) -> float:
    """Milliseconds of a step: the program's median."""
    command = [program, f"--benchmark_filter={dtype}/seq:{seq}/threads:{threads}/", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    (run,) = [run for run in report["benchmarks"] if run.get("aggregate_name") == "median"]
    assert run["time_unit"] == "ms"
    return run["real_time"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", metavar="BENCH_TRAIN_STEP")
    parser.add_argument("--seq", type=int, default=128, choices=(128, 1024), help="tokens a sequence")
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16"), help="what is computed in")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    peers = {
        f"PyTorch, {way}": Peer(arguments.seq, arguments.dtype, way == "compiled") for way in ("eager", "compiled")
    }
    parameters = sum(p.numel() for p in peers["PyTorch, eager"].model.parameters())
    print(f"{parameters:,} parameters, {TOKENS // arguments.seq} x {arguments.seq} tokens, {arguments.dtype}, "
          f"{arguments.threads} threads, PyTorch {torch.__version__}")
    times: dict[str, list[float]] = {name: [] for name in ("napkin", *peers)}
    for _ in range(arguments.rounds):
        times["napkin"].append(ours(arguments.program, arguments.seq, arguments.dtype, arguments.threads))
        for name, peer in peers.items():
            times[name].append(peer.milliseconds())
    medians = {name: statistics.median(of) for name, of in times.items()}
    for name, of in times.items():
        print(f"{name:<18} {medians[name]:8.1f} ms   ({min(of):.1f} to {max(of):.1f})")
    best = min(medians[name] for name in peers)
    print(f"the better of PyTorch's takes {best / medians['napkin']:.2f} times ours")


if __name__ == "__main__":
    main()
