"""The rungs of training steps, T and M: the same losses first, then steps in turns with PyTorch's.

A batch goes over from the host in every step, ours and theirs. Ours waits for each step's loss; PyTorch does
not, which is to its advantage.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import measure
import memory
import torch
from budget import NO_TIME, Budget
from library import Case, Handle, Library, LibraryError
from machine import Machine
from measure import Contender
from models import Gpt, Values, decays, model_of
from results import (
    ASKED,
    AUTOTUNED,
    BEGUN,
    EAGER,
    IN_8_BITS,
    IN_A_GRAPH,
    OURS_IN_BF16,
    PLANNED,
    RESIDUAL_IN_BF16,
    Peer,
    Row,
)
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from two_ways import reason

BATCHES = 8
CHECKED_STEPS = 20
RATE = 1e-3
BETAS, EPSILON, DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0
# Of a loss, relative. In f32 steps that are right come within 2e-7 on an H200, biases that are never updated 1.7e-5.
# In f8, beside PyTorch's bf16: its first two steps know no scales (README.md).
TOLERANCE = {"f32": 1e-5, "bf16": 1e-3, "f8": 2e-2}
WINDOW, SMALL_WINDOW = 1.0, 0.2  # seconds of a contender in a round; of small steps
# Of ratios: more is measured once again. T4's was, as kernels are by 3%, and in rounds twice as long still lay from
# 1.09 to 1.13, which are 3.6%: a repeat had told no more, and costs half a minute of each peer.
SPREAD = 0.06
SMALL = 0.02  # seconds of a step: below this every way of launching it is a peer

Batch = list[Tensor]
T = TypeVar("T")


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
    """A whole step of PyTorch's: forward in the compute dtype, backward, clipping, the fused optimizer. In f8:
    all but the layers' products as in bf16.
    """

    def __init__(
        self,
        values: Values,
        kind: str,
        machine: Machine,
        mode: str | None,
        capturable: bool,
        residual_in_bf16: bool = False,
    ) -> None:
        self.machine, self.kind = machine, kind
        with torch.device(machine.device):  # where first values are drawn, before ours take their place
            self.model = model_of(values, kind, residual_in_bf16)
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
        computes_in = (
            nullcontext() if self.kind == "f32" else torch.autocast(self.machine.device.type, torch.bfloat16)
        )
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
        machine.release()
    return min(took, key=lambda b: took[b]) if took else None


def seconds_of_eager(values: Values, kind: str, machine: Machine, batch: Batch, backend: SDPBackend) -> float:
    step = TorchStep(values, kind, machine, None, False)
    with sdpa_kernel(backend):
        run = machine.by_events(lambda: step.step(batch))
        run(2)
        return run(5)


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


Steps = Callable[[int], float]  # so many; the seconds that all of them took


@dataclass(frozen=True)
class Way:
    """A peer: a way to do a step. `compiling`: about how many seconds it compiles."""

    name: str
    make: Callable[[], AbstractContextManager[Steps]]
    compiling: float = 0


@contextmanager
def torch_steps(
    make: Callable[[], TorchStep | Replayed], batches: list[Batch], machine: Machine
) -> Iterator[Steps]:
    step = make()
    each = itertools.cycle(batches)
    yield measure.by_wall_clock(lambda: step.step(next(each)), machine.finish)


@contextmanager
def our_steps(
    library: Library, case: Case, batches: list[Batch], machine: Machine, notes: list[str] | None = None
) -> Iterator[Steps]:
    """Adds to the notes how launches are put, which a trainer chooses by the clock as it is made."""
    addresses = addresses_of(batches)
    handle = library.open(case)
    try:
        if notes is not None:
            notes.append(f"launches {handle.order}")
        yield lambda steps: measure.by_wall_clock(
            lambda: handle.train(RATE, addresses, steps), machine.finish
        )(1)
    finally:
        handle.close()


def as_a_peer(call: Callable[..., T]) -> Callable[..., T]:
    """What fails in it is no failure of ours."""

    def called(*arguments: object) -> T:
        try:
            return call(*arguments)
        except LibraryError as e:
            raise RuntimeError(str(e)) from e

    return called


@contextmanager
def our_steps_in_bf16(path: Path, case: Case, batches: list[Batch], machine: Machine) -> Iterator[Steps]:
    """Of T4's library, on the same batches."""
    if not path.exists():
        raise FileNotFoundError(f"no {path.name}")
    library = as_a_peer(Library)(path)
    with ExitStack() as opened:
        steps = our_steps(library, library.cases[0], batches, machine)
        yield as_a_peer(as_a_peer(opened.enter_context)(steps))


def seconds_to_compile(values: Values) -> float:
    """A guess: each layer is unrolled. A guess beyond what a run may take keeps a peer from ever beginning: T5's
    deepest has 48 layers, and is compiled by autotuning in twice this.
    """
    return 10 + 2 * sum(name.endswith("attention.query") for name in values)


def peers_of(
    values: Values,
    kind: str,
    machine: Machine,
    batches: list[Batch],
    short: bool,
    residual_in_bf16: bool = False,
) -> list[Way]:
    """What a step is compared with, the surest first. `residual_in_bf16`: also compiled steps with such a one."""
    compiling = seconds_to_compile(values)

    def plain(mode: str | None, narrow: bool = False) -> AbstractContextManager[Steps]:
        return torch_steps(lambda: TorchStep(values, kind, machine, mode, False, narrow), batches, machine)

    def graphed(mode: str | None, narrow: bool = False) -> AbstractContextManager[Steps]:
        return torch_steps(
            lambda: Replayed(TorchStep(values, kind, machine, mode, True, narrow), batches), batches, machine
        )

    def compiled(narrow: bool) -> Iterator[Way]:
        own = f", {RESIDUAL_IN_BF16}" if narrow else ""
        for mode, seconds in (("default", compiling), (AUTOTUNED, 2 * compiling)):
            yield Way(f"compile {mode}{own}", partial(plain, mode, narrow), seconds)
            if not machine.host:  # half as long: PyTorch keeps on disk what it has just compiled
                yield Way(f"compile {mode}, {IN_A_GRAPH}{own}", partial(graphed, mode, narrow), seconds / 2)

    found = [Way(EAGER, partial(plain, None))]
    if short and not machine.host:
        found.append(Way(f"{EAGER}, {IN_A_GRAPH}", partial(graphed, None)))
    found += compiled(narrow=False)
    if short and not machine.host:
        found.append(Way("compile reduce-overhead", partial(plain, "reduce-overhead"), compiling))
    if residual_in_bf16:
        found += compiled(narrow=True)
    return found


def peers_in_8_bits(
    values: Values,
    case: Case,
    machine: Machine,
    ours: list[Batch],
    theirs: list[Batch],
    short: bool,
    t4: Path,
) -> list[Way]:
    """T4's step, ours and PyTorch's, and PyTorch's in 8 bits by the same ways."""
    wide = peers_of(values, "bf16", machine, theirs, short)
    narrow = peers_of(values, "f8", machine, theirs, short)
    found = [Way(OURS_IN_BF16, partial(our_steps_in_bf16, t4, case, ours, machine))]
    for bf16, f8 in zip(wide, narrow, strict=True):
        found += [bf16, Way(f"{IN_8_BITS}{f8.name}", f8.make, f8.compiling)]
    return found


@contextmanager
def backend_of(chosen: SDPBackend | None) -> Iterator[None]:
    context: AbstractContextManager = nullcontext() if chosen is None else sdpa_kernel(chosen)
    with context:
        yield


def losses_apart(ours: list[float], theirs: list[float]) -> float:
    """The largest relative difference; infinite where one is NaN."""
    apart = [abs(x - y) / max(abs(y), 1e-30) for x, y in zip(ours, theirs, strict=True)]
    return max(apart) if all(a == a for a in apart) else float("inf")


def bench_steps(
    library: Library,
    machine: Machine,
    rates: dict[str, float],
    budget: Budget,
    before: dict[str, list[Peer]],
    t4: Path,
    residual_in_bf16: bool,
) -> Iterator[Row]:
    """A row for each case, given again as each of its peers has been measured. `before`: by case, those of an
    earlier run: what it has measured is kept. `t4`: the library with which a step in 8 bits is compared.
    `residual_in_bf16`: GPTs in bf16 have peers more.
    """
    for i, case in enumerate(library.cases):
        row = Row(case.name, tolerance=TOLERANCE[case.name.split()[-1]])
        if budget.spent:
            row.note = "not measured: the time was up"
        else:
            try:
                share = budget.share(len(library.cases) - i)
                known = before.get(case.name, [])
                yield from bench_step(row, library, case, machine, rates, share, known, t4, residual_in_bf16)
            except Exception as e:  # noqa: BLE001: of the library, of CUDA: the other cases may still go
                row.failed, row.note = True, reason(e)
            machine.release()
        yield row


def addresses_of(batches: list[Batch]) -> list[list[int]]:
    return [[x.data_ptr() for x in batch] for batch in batches]


def bench_step(
    row: Row,
    library: Library,
    case: Case,
    machine: Machine,
    rates: dict[str, float],
    budget: Budget,
    before: list[Peer],
    t4: Path,
    residual_in_bf16: bool,
) -> Iterator[Row]:
    row.note = BEGUN
    row.peers = [p for p in before if p.ratio is not None]
    yield row
    kind = case.name.split()[-1]
    wide = "bf16" if kind == "f8" else kind  # what PyTorch's losses are computed in
    batches = batches_for(case)
    given = torch_batches(batches, machine)

    # One after the other: a large step leaves no room for another beside it.
    handle = library.open(case)
    try:
        values = parameters_of(handle, case)
        ours = handle.train(RATE, addresses_of(batches), CHECKED_STEPS)
    finally:
        handle.close()
    backend = best_backend(values, wide, machine, given)
    with backend_of(backend):
        theirs = torch_losses(values, wide, machine, given)
    row.error = losses_apart(ours, theirs)
    row.facts["first loss"], row.facts["last loss"] = ours[0], ours[-1]
    notes = [] if row.right else [f"other losses than PyTorch's ({theirs[0]:.6g} to {theirs[-1]:.6g})"]
    if kind == "f8":
        row.facts[PLANNED], row.facts[ASKED] = case.memory, library.allocated_most
        if row.facts[PLANNED] != row.facts[ASKED]:
            row.failed = True
            notes.append("asks for other bytes than are planned")
        try:
            with backend_of(backend):
                row.facts["PyTorch's losses in 8 bits, apart from its own"] = losses_apart(
                    torch_losses(values, kind, machine, given), theirs
                )
        except RuntimeError as e:  # the peers will say so too
            notes.append(f"PyTorch's losses in 8 bits: {reason(e)}")

    with our_steps(library, case, batches, machine, notes) as train:
        mine = Contender("ours", train)
        row.seconds = row.called = machine.compare([mine], SMALL_WINDOW)[0].seconds
        row.limit, row.bound = limit_of(case, kind, rates)
        add_facts(row, case)
        if backend is not None:
            notes.append(f"PyTorch's attention by {backend.name}")
        row.note = "; ".join(notes)
        window = SMALL_WINDOW if row.seconds < SMALL else WINDOW
        short = row.seconds < SMALL
        if kind == "f8":
            ways = peers_in_8_bits(values, case, machine, batches, given, short, t4)
        else:
            narrow = residual_in_bf16 and kind == "bf16" and "tokens" in values
            ways = peers_of(values, kind, machine, given, short, narrow)
        known = [p.name for p in row.peers]
        waited = [p.name for p in before if p.ratio is None and p.note.startswith(NO_TIME)]
        measuring = measure.seconds_of_turns(2, window)  # a repeat may go beyond
        begun = False
        for way in ways:
            if way.name in known:
                continue
            row.peers.append(Peer(way.name, note=BEGUN))
            yield row
            why_not = ""
            if way.compiling:
                # Where nothing was compiled before it, no run has more time left: it begins once, however long.
                anyway = way.name in waited and not begun
                why_not = budget.why_not_compile(way.compiling + measuring, anyway)
            if budget.spent or why_not:
                row.peers[-1].note = why_not or NO_TIME
                continue
            begun = True
            row.peers[-1] = beside(mine, way, machine, backend, window)
            machine.release()


def torch_losses(values: Values, kind: str, machine: Machine, batches: list[Batch]) -> list[float]:
    """Of the first steps, eager."""
    step = TorchStep(values, kind, machine, None, False)
    losses = [step.step(batches[i % BATCHES]).item() for i in range(CHECKED_STEPS)]
    del step
    machine.release()
    return losses


def flops_in_8_bits(case: Case) -> int:
    """Of the layers' products, forward and twice back: 6 for each token and weight."""
    weights = sum(p.elements for p in case.parameters if p.name.startswith("blocks.") and decays(p.name))
    return 6 * case.inputs[0].elements * weights


def limit_of(case: Case, kind: str, rates: dict[str, float]) -> tuple[float, str]:
    """All products at the run's rates of them."""
    if kind != "f8":
        return case.matmul_flops / rates[{"f32": "float32", "bf16": "bfloat16"}[kind]], "the GEMM rate"
    narrow = flops_in_8_bits(case)
    seconds = narrow / rates["float8_e4m3fn"] + (case.matmul_flops - narrow) / rates["bfloat16"]
    return seconds, "the GEMM rates"


def beside(ours: Contender, way: Way, machine: Machine, backend: SDPBackend | None, window: float) -> Peer:
    """One peer and ours in turns. A peer that cannot is no contender; where ours cannot, the case fails."""
    try:
        with backend_of(backend), way.make() as steps:
            first, second = machine.compare([ours, Contender(way.name, steps)], window, SPREAD)
        r = measure.ratio(first, second)
        return Peer(way.name, second.seconds, (r.median, r.low, r.high), r.median)
    except LibraryError:
        raise
    except Exception as e:  # noqa: BLE001
        return Peer(way.name, note=reason(e))


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


def bench_memory(library: Library, machine: Machine, budget: Budget) -> Iterator[Row]:
    """What a step of T4 takes of the device, planned and asked for, beside what PyTorch's takes at most."""
    case = library.cases[0]
    row = memory.begun(case)
    row.note = BEGUN
    yield row
    row.note = ""
    try:
        yield from memory_beside(row, library, case, machine, budget)
    except Exception as e:  # noqa: BLE001
        row.failed, row.note = True, reason(e)
    yield row


def memory_beside(row: Row, library: Library, case: Case, machine: Machine, budget: Budget) -> Iterator[Row]:
    kind = case.name.split()[-1]
    batches = batches_for(case)
    machine.finish()
    free = free_memory(machine)

    def parameters_and_free(handle: Handle) -> tuple[Values, int]:
        return parameters_of(handle, case), free_memory(machine)

    values, still_free = memory.take_steps(row, library, case, addresses_of(batches), parameters_and_free)
    if machine.host:
        row.note = "PyTorch's peak is not asked of the host"
        return
    # With cuBLASLt, modules and the driver's granules.
    row.facts["bytes that the device has less"] = free - still_free
    given = torch_batches(batches, machine)
    backend = best_backend(values, kind, machine, given)
    peaks: list[int] = []
    compiling = seconds_to_compile(values)
    modes = ((None, 0.0), ("default", compiling), (AUTOTUNED, 2 * compiling))
    for mode, seconds in modes:
        name = EAGER if mode is None else f"compile {mode}"
        noted = Peer(name, note=BEGUN)
        row.peers.append(noted)
        yield row
        why_not = "" if mode is None else budget.why_not_compile(seconds)
        if why_not:
            noted.note = why_not
            continue
        machine.release()
        try:
            peak = peak_of(values, kind, machine, mode, given, backend)
        except Exception as e:  # noqa: BLE001: a peer that cannot do it
            noted.note = reason(e)
            continue
        peaks.append(peak)
        row.facts[f"PyTorch {name}, bytes"] = peak
        row.peers.remove(noted)
    if peaks:
        row.facts["peer's peak / ours"] = min(peaks) / case.memory


def free_memory(machine: Machine) -> int:
    """Of the whole device."""
    return 0 if machine.host else torch.cuda.mem_get_info()[0]


def peak_of(
    values: Values,
    kind: str,
    machine: Machine,
    mode: str | None,
    batches: list[Batch],
    backend: SDPBackend | None,
) -> int:
    """Bytes that steps take at most, after the first: what compiling and timing took is not theirs."""
    with backend_of(backend):
        step = TorchStep(values, kind, machine, mode, False)
        step.step(batches[0])
        machine.finish()
        torch.cuda.reset_peak_memory_stats()
        for batch in batches[1:3]:
            step.step(batch)
        machine.finish()
    return torch.cuda.max_memory_allocated()
