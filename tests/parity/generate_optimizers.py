"""Every optimizer of optim/, 1,000 steps in f64 by PyTorch (Lion, which it lacks, by its paper's formula in numpy).

Gradients, first values and rates are a function of counters, the same in tests/parity/optimizers.cpp, so that
only the parameters after a few steps are recorded: data/optimizers.safetensors. See README.md.
"""

import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

STEPS = 1000
KEPT = (1, 10, 100, 1000)
SHAPES = {"wide": (9, 15), "tall": (16, 7), "square": (6, 6), "bias": (24,)}  # bias does not decay


def bits(stream, step, count):
    """splitmix64 of (stream, step, element): 53 bits each."""
    with np.errstate(over="ignore"):
        z = np.arange(count, dtype=np.uint64)
        z = (np.uint64(stream) << np.uint64(48)) + (np.uint64(step) << np.uint64(24)) + z
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) >> np.uint64(11)


def uniform(stream, step, count):
    """On [-1, 1), exact in f64."""
    return bits(stream, step, count).astype(np.float64) * 2.0**-52 - 1.0


def gradient(stream, step, count):
    """Scales run from 1 to 2^-15 over the steps and never change a digit; element 3 is always 0."""
    scale = 2.0 ** -float(bits(0, step, 1)[0] % 16)
    g = uniform(stream, step, count) * scale
    g[3] = 0.0
    return g


def rate(step):
    return 1e-2 * (1.5 + uniform(0, 5000 + step, 1)[0])


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, groups, betas=(0.9, 0.99)):
        super().__init__(groups, {"lr": 0.0, "betas": betas, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p)).numpy()
                g, value = p.grad.numpy(), p.numpy()
                direction = np.sign(b1 * m + (1 - b1) * g)
                value[:] = value - group["lr"] * (direction + group["weight_decay"] * value)
                m[:] = b2 * m + (1 - b2) * g


class Muon:
    """torch.optim.Muon of the matrices, in f64 where it says bf16; torch.optim.AdamW of the bias."""

    def __init__(self, decayed, rest):
        self.muon = torch.optim.Muon([{"params": decayed, "weight_decay": 0.1}])
        self.adamw = torch.optim.AdamW([{"params": rest, "weight_decay": 0.0}], betas=(0.9, 0.95))
        self.param_groups = self.muon.param_groups + self.adamw.param_groups

    def step(self):
        bf16, torch.bfloat16 = torch.bfloat16, torch.float64
        self.muon.step()
        torch.bfloat16 = bf16
        self.adamw.step()


def make(name, decayed, rest, decay):
    groups = [{"params": decayed, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]
    optim = torch.optim
    return {
        "sgd": lambda: optim.SGD(groups),
        "momentum": lambda: optim.SGD(groups, momentum=0.9),
        "momentum_dampened": lambda: optim.SGD(groups, momentum=0.9, dampening=0.3),
        "nesterov": lambda: optim.SGD(groups, momentum=0.9, nesterov=True),
        "adagrad": lambda: optim.Adagrad(groups, lr_decay=1e-3),
        "rmsprop": lambda: optim.RMSprop(groups),
        "adam": lambda: optim.Adam(groups),
        "adamw": lambda: optim.AdamW(groups, betas=(0.9, 0.95)),
        "lion": lambda: Lion(groups),
        "muon": lambda: Muon(decayed, rest),
    }[name]()


OPTIMIZERS = ("sgd", "momentum", "momentum_dampened", "nesterov", "adagrad", "rmsprop", "adam", "adamw", "lion", "muon")


def run(name):
    parameters = {}
    for stream, (key, shape) in enumerate(SHAPES.items(), 1):
        value = uniform(stream, 0, int(np.prod(shape))).reshape(shape)
        parameters[key] = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    decayed = [p for key, p in parameters.items() if key != "bias"]
    optimizer = make(name, decayed, [parameters["bias"]], 0.1 if name in ("adamw", "lion", "muon") else 0.01)
    record = {}
    for step in range(1, STEPS + 1):
        for stream, (key, shape) in enumerate(SHAPES.items(), 1):
            parameters[key].grad = torch.tensor(gradient(stream, step, int(np.prod(shape))).reshape(shape))
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        if step in KEPT:
            values = [p.detach().numpy().ravel() for p in parameters.values()]
            record[f"{name}.after_{step}"] = np.concatenate(values)
    return record


def main():
    torch.set_num_threads(1)
    record = {}
    for name in OPTIMIZERS:
        record |= run(name)
        print(name, record[f"{name}.after_{STEPS}"][:3])
    path = pathlib.Path(__file__).parent / "data" / "optimizers.safetensors"
    save_file(record, path, metadata={"source": f"tests/parity/generate_optimizers.py, torch {torch.__version__}"})
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
