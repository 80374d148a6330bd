"""The rungs of training steps, T and M: the same losses first, then steps in turns with PyTorch's.

A batch goes over from the host in every step, ours and theirs. Ours waits for each step's loss; PyTorch does not, which
is to its advantage.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import measure
import torch
from budget import Budget
from functions import reason
from library import Case, Handle, Library
from machine import Machine
from measure import Contender
from models import Gpt, Values, decays, model_of
from results import Peer, Row
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

BATCHES = 8
CHECKED_STEPS = 20
RATE = 1e-3
BETAS, EPSILON, DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0
TOLERANCE = {"f32": 1e-4, "bf16": 1e-3}  # of a loss, relative
WINDOW = 1.0  # seconds of a contender in a round
SMALL = 0.02  # seconds of a step: below this every way of launching it is a peer

Batch = list[Tensor]


def zipf(count: int, vocabulary: int) -> Tensor:
    """Tokens of which a few are most, as in text: much of the embedding's gradient is a sum of equal rows."""
    return torch.multinomial(1 / torch.arange(1, vocabulary + 1), count, replacement=True)


def batches_for(case: Case) -> list[Batch]:
    """On the host, as our loss takes them."""
    vocabulary = case.parameters[0].sizes[0]

    def one() -> Batch:
        first, second = case.inputs
        if first.dtype == "u16":
            text = zipf(first.elements + 1, vocabulary).to(torch.uint16)
            return [text[:-1].clone().view(first.sizes), text[1:].clone().view(second.sizes)]
        return [torch.randn(first.sizes), torch.randint(10, second.sizes, dtype=torch.int32)]

    return [one() for _ in range(BATCHES)]


def parameters_of(handle: Handle, case: Case) -> Values:
    flat = torch.empty(sum(p.elements for p in case.parameters))
    handle.read(flat.data_ptr())
    pieces = flat.split([p.elements for p in case.parameters])
    return {p.name: x.view(p.sizes) for p, x in zip(case.parameters, pieces)}


class TorchStep:
    """A whole step of PyTorch's: forward in the compute dtype, backward, clipping, the fused optimizer."""

    def __init__(self, values: Values, kind: str, machine: Machine, mode: str | None, capturable: bool) -> None:
        self.machine, self.kind = machine, kind
        self.model = model_of(values).to(machine.device)
        self.compiled: Callable[..., Tensor] = self.model
        if mode is not None:
            self.compiled = torch.compile(self.model, mode=mode, dynamic=False)
        self.optimizer, self.clips = optimizer_of(self.model, machine, capturable)
        self.inputs: Batch = []

    def take(self, batch: Batch) -> None:
        """Puts a batch, which lies in pinned memory, where the step reads it."""
        if not self.inputs:
            self.inputs = [torch.empty_like(x, device=self.machine.device) for x in batch]
        for to, x in zip(self.inputs, batch):
            to.copy_(x, non_blocking=True)

    def compute(self) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        computes_in = nullcontext() if self.kind == "f32" else torch.autocast(self.machine.device.type, torch.bfloat16)
        with computes_in:
            loss = self.compiled(*self.inputs)
        loss.backward()
        if self.clips:
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIP, foreach=not self.machine.host)
        self.optimizer.step()
        return loss.detach()

    def step(self, batch: Batch) -> Tensor:
        self.take(batch)
        return self.compute()


def optimizer_of(model: nn.Module, machine: Machine, capturable: bool) -> tuple[torch.optim.Optimizer, bool]:
    """As the rung's: plain gradient descent for the perceptron, else AdamW, clipped."""
    named = list(model.named_parameters())
    if not isinstance(model, Gpt):
        return torch.optim.SGD([p for _, p in named], lr=RATE, fused=True), False
    groups = [
        {"params": [p for name, p in named if decays(name)], "weight_decay": DECAY},
        {"params": [p for name, p in named if not decays(name)], "weight_decay": 0.0},
    ]
    more = {"capturable": True} if capturable else {}
    return torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON, fused=True, **more), True


def torch_batches(batches: list[Batch], machine: Machine) -> list[Batch]:
    """As PyTorch takes them: its indices are of 64 bits; pinned."""

    def one(x: Tensor) -> Tensor:
        x = x if x.is_floating_point() else x.long()
        return x if machine.host else x.pin_memory()

    return [[one(x) for x in batch] for batch in batches]


def best_backend(values: Values, kind: str, machine: Machine, batches: list[Batch]) -> SDPBackend | None:
    """Of attention, by an eager step each; none where there is nothing to choose."""
    if machine.host or kind == "f32" or "tokens" not in values:
        return None
    took: dict[SDPBackend, float] = {}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        try:
            took[backend] = seconds_of_eager(values, kind, machine, batches[0], backend)
        except RuntimeError:  # not on this device
            pass
        release(machine)
    return min(took, key=lambda b: took[b]) if took else None


def seconds_of_eager(values: Values, kind: str, machine: Machine, batch: Batch, backend: SDPBackend) -> float:
    step = TorchStep(values, kind, machine, None, False)
    with sdpa_kernel(backend):
        run = machine.by_events(lambda: step.step(batch))
        run(2)
        return run(5)


def release(machine: Machine) -> None:
    gc.collect()
    torch._dynamo.reset()
    if not machine.host:
        torch.cuda.empty_cache()


class Replayed:
    """A whole step as one CUDA graph."""

    def __init__(self, step: TorchStep, batches: list[Batch]) -> None:
        self.inner = step
        for i in range(5):
            step.step(batches[i % len(batches)])
        step.machine.finish()
        self.graph = torch.cuda.CUDAGraph()
        step.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph, stream=step.machine.stream):
            self.loss = step.compute()

    def step(self, batch: Batch) -> Tensor:
        self.inner.take(batch)
        self.graph.replay()
        return self.loss


Maker = Callable[[], TorchStep | Replayed]


def peers_of(
    values: Values, kind: str, machine: Machine, batches: list[Batch], budget: Budget, short: bool
) -> Iterator[tuple[str, Maker]]:
    """What a step is compared with, the surest first. Asked for one by one, as time goes by."""

    def plain(mode: str | None, capturable: bool = False) -> TorchStep:
        return TorchStep(values, kind, machine, mode, capturable)

    def graphed(mode: str | None) -> Replayed:
        return Replayed(plain(mode, True), batches)

    yield "eager", partial(plain, None)
    if budget.allows_compiling:
        yield "compile default", partial(plain, "default")
    if not machine.host:
        if budget.allows_compiling:
            yield "compile default, whole step in a CUDA graph", partial(graphed, "default")
        if short:
            yield "eager, whole step in a CUDA graph", partial(graphed, None)
    if budget.allows_compiling:
        yield "compile max-autotune-no-cudagraphs", partial(plain, "max-autotune-no-cudagraphs")
    if short and not machine.host and budget.allows_compiling:
        yield "compile reduce-overhead", partial(plain, "reduce-overhead")


@contextmanager
def backend_of(chosen: SDPBackend | None) -> Iterator[None]:
    context: AbstractContextManager = nullcontext() if chosen is None else sdpa_kernel(chosen)
    with context:
        yield


def losses_apart(ours: list[float], theirs: list[float]) -> float:
    """The largest relative difference; infinite where one is NaN."""
    apart = [abs(x - y) / abs(y) for x, y in zip(ours, theirs, strict=True)]
    return max(apart) if all(a == a for a in apart) else float("inf")


def bench_steps(library: Library, machine: Machine, rates: dict[str, float], budget: Budget) -> Iterator[Row]:
    """A row for each case, given again as each of its peers has been measured."""
    for case in library.cases:
        row = Row(case.name, tolerance=TOLERANCE[case.name.split()[-1]])
        try:
            yield from bench_step(row, library, case, machine, rates, budget)
        except RuntimeError as e:
            row.note = reason(e)
            yield row


def bench_step(
    row: Row, library: Library, case: Case, machine: Machine, rates: dict[str, float], budget: Budget
) -> Iterator[Row]:
    kind = case.name.split()[-1]
    batches = batches_for(case)
    addresses = [[x.data_ptr() for x in batch] for batch in batches]
    given = torch_batches(batches, machine)

    # One after the other: a large step leaves no room for another beside it.
    handle = library.open(case)
    values = parameters_of(handle, case)
    ours = handle.train(RATE, addresses, CHECKED_STEPS)
    handle.close()
    backend = best_backend(values, kind, machine, given)
    with backend_of(backend):
        peer = TorchStep(values, kind, machine, None, False)
        theirs = [peer.step(given[i % BATCHES]).item() for i in range(CHECKED_STEPS)]
    del peer
    release(machine)
    row.error = losses_apart(ours, theirs)
    row.facts["first loss"], row.facts["last loss"] = ours[0], ours[-1]
    if not row.right:
        row.note = f"other losses than PyTorch's ({theirs[0]:.6g} to {theirs[-1]:.6g}), and so not timed"
        yield row
        return

    handle = library.open(case)
    try:

        def train(steps: int) -> float:
            return measure.by_wall_clock(lambda: handle.train(RATE, addresses, steps), machine.finish)(1)

        mine = Contender("ours", train)
        row.seconds = row.called = machine.compare([mine], WINDOW / 4)[0].seconds
        row.limit, row.bound = case.matmul_flops / rates[kind_of_rate(kind)], "the GEMM rate"
        add_facts(row, case)
        if backend is not None:
            row.note = f"PyTorch's attention by {backend.name}"
        yield row
        for name, make in peers_of(values, kind, machine, given, budget, row.seconds < SMALL):
            if budget.spent:
                row.peers.append(Peer(name, note="no time was left"))
            else:
                row.peers.append(beside(mine, name, make, given, machine, backend))
            release(machine)
            yield row
    finally:
        handle.close()


def kind_of_rate(kind: str) -> str:
    return {"f32": "float32", "bf16": "bfloat16"}[kind]


def beside(
    ours: Contender, name: str, make: Maker, batches: list[Batch], machine: Machine, backend: SDPBackend | None
) -> Peer:
    """One peer and ours in turns. A peer that cannot do it is no contender."""
    try:
        with backend_of(backend):
            step = make()
            count = 0

            def once() -> None:
                nonlocal count
                step.step(batches[count % len(batches)])
                count += 1

            theirs = Contender(name, measure.by_wall_clock(once, machine.finish))
            first, second = machine.compare([ours, theirs], WINDOW)
        r = measure.ratio(first, second)
        return Peer(name, second.seconds, (r.median, r.low, r.high), r.median)
    except Exception as e:  # noqa: BLE001
        return Peer(name, note=reason(e))


def add_facts(row: Row, case: Case) -> None:
    """Of a language model: tokens a second, and MFU as llm.c counts it, against 989 TFLOP/s."""
    if "tokens" not in [p.name for p in case.parameters] or row.seconds is None:
        return
    batch, seq = case.inputs[0].sizes
    width = case.parameters[0].sizes[1]
    layers = sum(p.name.endswith("attention.query") for p in case.parameters)
    parameters = sum(p.elements for p in case.parameters)
    rate = batch * seq / row.seconds
    row.facts["tokens/s"] = rate
    row.facts["MFU"] = rate * (6 * parameters + 6 * layers * width * seq) / 989e12


# ---- M1


def bench_memory(library: Library, machine: Machine) -> Iterator[Row]:
    """What a step of T4 takes of the device, planned and seen, beside what PyTorch's takes at most."""
    case = library.cases[0]
    row = Row(case.name, tolerance=0)
    kind = case.name.split()[-1]
    batches = batches_for(case)
    row.facts["planned bytes"] = case.memory
    if machine.host:
        row.note = "the host's memory is not asked"
        yield row
        return
    machine.finish()
    free = torch.cuda.mem_get_info()[0]
    handle = library.open(case)
    losses = handle.train(RATE, [[x.data_ptr() for x in batch] for batch in batches], 2)
    taken = free - torch.cuda.mem_get_info()[0]
    values = parameters_of(handle, case)
    handle.close()
    row.facts["first loss"] = losses[0]
    row.facts["bytes that the device has less"] = taken
    # cuBLASLt, modules and the driver's granules are beside the one allocation; it cannot be more than what is gone.
    row.error = max(0, case.memory - taken)
    given = torch_batches(batches, machine)
    backend = best_backend(values, kind, machine, given)
    least: float | None = None
    for name, mode in (("eager", None), ("compile default", "default")):
        release(machine)
        torch.cuda.reset_peak_memory_stats()
        try:
            with backend_of(backend):
                step = TorchStep(values, kind, machine, mode, False)
                for i in range(3):
                    step.step(given[i])
                machine.finish()
            peak = torch.cuda.max_memory_allocated()
            row.facts[f"PyTorch {name}, bytes"] = peak
            least = peak if least is None else min(least, peak)
            del step
        except RuntimeError as e:
            row.peers.append(Peer(name, note=reason(e)))
    if least is not None:
        row.facts["peer's peak / ours"] = least / case.memory
    yield row
