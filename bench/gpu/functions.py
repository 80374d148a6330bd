"""The rungs of functions, K, G, E and A: first right, then in turns with the peers, on sets of inputs that are cold."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import measure
import torch
from budget import Budget
from library import Case, Handle, Library
from machine import Machine
from measure import Contender
from results import Peer, Row
from torch import Tensor
from torch.nn.attention import sdpa_kernel
from workloads import DTYPES, Tensors, Workload, difference, tolerance, workload

SHORT = 2e-3  # seconds: below this, what a launch takes is worth leaving out
CALLS_IN_A_GRAPH = 20

Call = Callable[[], None]


@dataclass
class InputSet:
    inputs: list[Tensor]
    prepared: Tensors
    outputs: list[Tensor]
    handle: Handle

    def run(self, machine: Machine) -> None:
        self.handle.run()
        if machine.host:  # nobody else lets its streams run
            self.handle.synchronize()


def poisoned(case: Case, device: torch.device) -> list[Tensor]:
    """Bytes that are NaN in every float, so that what is not written is seen."""
    outputs = []
    for a in case.outputs:
        raw = torch.full((max(a.bytes, 1),), 0xFF, dtype=torch.uint8, device=device)
        outputs.append(raw.view(DTYPES[a.dtype]).view(a.sizes))
    return outputs


def make_set(library: Library, case: Case, work: Workload, machine: Machine) -> InputSet:
    inputs = work.inputs(case, machine.device)
    outputs = poisoned(case, machine.device)
    handle = library.open(case, machine.handle)
    handle.bind([x.data_ptr() for x in inputs], [x.data_ptr() for x in outputs])
    return InputSet(inputs, work.prepare(inputs), outputs, handle)


def number_of_sets(case: Case, cache: int) -> int:
    """So many that none is in the cache when it comes again."""
    size = case.bytes_in_and_out
    return 1 if size >= 3 * cache else min(64, max(3, -(-3 * cache // size) + 1))


def error_of(made: InputSet, work: Workload, machine: Machine) -> float:
    made.handle.run()
    made.handle.synchronize()
    machine.finish()
    expected = work.expected(made.inputs)
    if len(expected) != len(made.outputs):
        return float("inf")
    return max(difference(x, y) for x, y in zip(made.outputs, expected))


@dataclass(frozen=True)
class PeerCall:
    """`context`: within which it is called, which chooses a backend of attention."""

    name: str
    compute: Callable[..., object]
    context: Callable[[], AbstractContextManager] = nullcontext


def peers_of(work: Workload, machine: Machine, compiling: bool) -> list[PeerCall]:
    if work.backends and not machine.host:
        return [PeerCall(b.name, work.compute, lambda b=b: sdpa_kernel(b)) for b in work.backends]
    found = [PeerCall("eager", work.compute)]
    if compiling:
        torch._dynamo.reset()
        for mode in work.modes:
            found.append(PeerCall(f"compile {mode}", torch.compile(work.compute, mode=mode, dynamic=False)))
    return found


def in_turn(calls: Sequence[Call]) -> Call:
    """The next of them at each call: sets of inputs one after the other."""
    each = itertools.cycle(calls)
    return lambda: next(each)()


Timings = dict[str, measure.Timing]
Failures = list[Peer]


def reason(e: Exception) -> str:
    first = (str(e).splitlines() or [""])[0]
    return f"{type(e).__name__}: {first[:120]}"


def seconds_of(
    contenders: list[tuple[str, list[Call]]], machine: Machine
) -> tuple[Timings, Timings, Failures]:
    """By name: as captured in one graph, and as called one by one. Long work, and the host's, is called alone."""
    called = [Contender(name, machine.by_events(in_turn(calls))) for name, calls in contenders]
    one_by_one = {t.name: t for t in machine.compare(called)}
    if machine.host or one_by_one[contenders[0][0]].seconds > SHORT:
        return one_by_one, one_by_one, []
    times = -(-CALLS_IN_A_GRAPH // len(contenders[0][1]))
    replayed, failures = [], []
    for name, calls in contenders:
        try:
            run = machine.by_events(machine.captured(calls * times))
        except RuntimeError as e:
            if name == contenders[0][0]:
                raise
            failures.append(Peer(name, note=f"in a CUDA graph, {reason(e)}"))
            continue
        replayed.append(Contender(name, lambda n, run=run, per=len(calls) * times: run(n) / per))
    return {t.name: t for t in machine.compare(replayed)}, one_by_one, failures


def bench_case(
    rung: str, library: Library, case: Case, machine: Machine, rates: dict[str, float], budget: Budget
) -> Row:
    work = workload(rung, case.name)
    row = Row(case.name, tolerance=tolerance(case))
    sets = [make_set(library, case, work, machine)]
    try:
        row.error = error_of(sets[0], work, machine)
        if not row.right:
            row.note = "wrong, and so not timed"
            return row
        sets += [make_set(library, case, work, machine) for _ in range(number_of_sets(case, machine.cache) - 1)]
        contenders: list[tuple[str, list[Call]]] = [("ours", [lambda s=s: s.run(machine) for s in sets])]
        if work.others:
            contenders += [(name, [make(machine.device)]) for name, make in work.others.items()]
        else:
            compiling = budget.allows_compiling
            if work.modes and budget.compiling and not compiling:
                row.peers.append(Peer("compile", note="no time was left"))
            for peer in peers_of(work, machine, compiling):
                calls = [lambda p=peer, s=s: called_in(p, work, s) for s in sets]
                try:
                    calls[0]()
                    machine.finish()
                    contenders.append((peer.name, calls))
                except Exception as e:  # noqa: BLE001: a peer that cannot do it is no contender
                    row.peers.append(Peer(peer.name, note=reason(e)))
        graphs, called, failures = seconds_of(contenders, machine)
        row.peers += failures
        row.seconds, row.called = graphs["ours"].seconds, called["ours"].seconds
        for name in [name for name, _ in contenders[1:] if name in graphs]:
            r = measure.ratio(graphs["ours"], graphs[name])
            single = measure.ratio(called["ours"], called[name]).median
            row.peers.append(Peer(name, graphs[name].seconds, (r.median, r.low, r.high), single))
        row.limit, row.bound = limit_of(case, work, rates)
        return row
    finally:
        for s in sets:
            s.handle.close()


def called_in(peer: PeerCall, work: Workload, s: InputSet) -> None:
    with peer.context():
        work.call(peer.compute, s.prepared)


def limit_of(case: Case, work: Workload, rates: dict[str, float]) -> tuple[float, str]:
    """The larger of the bytes at the run's copy rate and the FLOPs at its rate of products."""
    kind = str(DTYPES[case.inputs[0].dtype]).removeprefix("torch.")
    moving = work.bytes(case) / rates["copy"]
    flops = work.flops(case)
    computing = flops / rates[kind] if flops and kind in rates else 0.0
    return (computing, f"{kind} products") if computing > moving else (moving, "copy")


def bench_functions(
    rung: str, library: Library, machine: Machine, rates: dict[str, float], budget: Budget
) -> Iterator[Row]:
    for case in library.cases:
        if budget.spent:
            yield Row(case.name, note="not measured: the time was up")
            continue
        try:
            yield bench_case(rung, library, case, machine, rates, budget)
        except RuntimeError as e:  # of the library, of CUDA: the other cases may still go
            yield Row(case.name, note=reason(e))
        gc.collect()
        if not machine.host:
            torch.cuda.empty_cache()
