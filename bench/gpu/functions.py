"""The rungs of functions, K, G, E and A: first right, then in turns with the peers, on cold inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

import measure
import torch
from budget import Budget
from library import Case, Handle, Library, LibraryError
from machine import Machine
from results import AUTOTUNED, BEGUN, Peer, Row
from torch import Tensor
from torch.nn.attention import sdpa_kernel
from two_ways import Call, Kept, reason, seconds_of
from workloads import DTYPES, Tensors, Workload, difference, tolerance, workload

COMPILING = {"default": 5.0, AUTOTUNED: 12.0}  # seconds, a guess
LEAST_SHARE = 25.0  # seconds of a case in which both modes of torch.compile may begin, and are measured


@dataclass
class InputSet:
    inputs: list[Tensor]
    prepared: Tensors
    outputs: list[Tensor]
    handle: Handle
    kept: Kept = field(default_factory=Kept)  # of peers

    def run(self, machine: Machine) -> None:
        self.handle.run()
        if machine.host:  # nobody else lets its streams run
            self.handle.synchronize()


def poison(outputs: list[Tensor]) -> None:
    """Bytes that are NaN in every float, so that what is not written is seen."""
    for x in outputs:
        x.view(-1).view(torch.uint8).fill_(0xFF)


def make_set(library: Library, case: Case, work: Workload, machine: Machine) -> InputSet:
    inputs = work.inputs(case, machine.device)
    outputs = [torch.empty(a.sizes, dtype=DTYPES[a.dtype], device=machine.device) for a in case.outputs]
    handle = library.open(case, machine.handle)
    try:
        handle.bind([x.data_ptr() for x in inputs], [x.data_ptr() for x in outputs])
    except LibraryError:
        handle.close()
        raise
    return InputSet(inputs, work.prepare(inputs), outputs, handle)


def number_of_sets(case: Case, cache: int) -> int:
    """So many that none is in the cache when it comes again."""
    size = case.bytes_in_and_out
    return 1 if size >= 3 * cache else min(64, max(3, -(-3 * cache // size) + 1))


def error_of(made: InputSet, work: Workload, machine: Machine) -> float:
    made.handle.synchronize()
    poison(made.outputs)  # not before bind(), which times products and so writes their results
    made.handle.run()
    made.handle.synchronize()
    machine.finish()
    expected = work.expected(made.inputs)
    if len(expected) != len(made.outputs):
        return float("inf")
    return max(difference(x, y) for x, y in zip(made.outputs, expected))


def check_of_replays(made: InputSet, within: float, machine: Machine) -> Callable[[Call], None]:
    """A graph's replay writes what the call that was checked just now has written, and not nothing."""
    checked = [x.clone() for x in made.outputs]

    def check(replay: Call) -> None:
        poison(made.outputs)
        replay()
        machine.finish()
        apart = max(difference(x, y) for x, y in zip(made.outputs, checked, strict=True))
        checked.clear()
        if not apart <= within:
            raise RuntimeError(f"replayed in a CUDA graph it is {apart:.1e} away from itself")

    return check


@dataclass(frozen=True)
class PeerCall:
    """`make`: what it calls on each set. `compiling`: about how many seconds the first call compiles."""

    name: str
    make: Callable[[list[InputSet]], list[Call]]
    compiling: float = 0.0


def calls_of(
    work: Workload,
    compute: Callable[..., object],
    context: Callable[[], AbstractContextManager] = nullcontext,
) -> Callable[[list[InputSet]], list[Call]]:
    """`context`: within which it is called, which chooses a backend of attention."""

    def call(s: InputSet) -> None:
        with context():
            s.kept.call(lambda: work.call(compute, s.prepared))

    return lambda sets: [partial(call, s) for s in sets]


def peers_of(work: Workload, machine: Machine) -> list[PeerCall]:
    if work.others:
        return [
            PeerCall(name, lambda _, o=o: [o.make(machine.device)], o.compiling)
            for name, o in work.others.items()
        ]
    if work.backends and not machine.host:
        return [PeerCall(b.name, calls_of(work, work.compute, partial(sdpa_kernel, b))) for b in work.backends]
    ways = {"": work.compute, **{f", {name}": compute for name, compute in work.variants.items()}}
    found = [PeerCall(f"eager{name}", calls_of(work, compute)) for name, compute in ways.items()]
    for mode in work.modes:
        for name, compute in ways.items():
            compiled = torch.compile(compute, mode=mode, dynamic=False)  # when it is called
            found.append(PeerCall(f"compile {mode}{name}", calls_of(work, compiled), COMPILING[mode]))
    return found


def bench_case(
    row: Row,
    rung: str,
    library: Library,
    case: Case,
    machine: Machine,
    rates: dict[str, float],
    budget: Budget,
) -> Iterator[Row]:
    """Its row, given again before whatever may end the process."""
    work = workload(rung, case)
    row.tolerance = tolerance(case)
    row.note = BEGUN
    yield row
    sets = [make_set(library, case, work, machine)]

    def clear() -> None:
        for s in sets:
            s.kept.clear()

    try:
        row.error = error_of(sets[0], work, machine)
        if not row.right:
            row.note = "wrong, and so not timed"
            return
        check = check_of_replays(sets[0], row.tolerance, machine)
        sets += [
            make_set(library, case, work, machine) for _ in range(number_of_sets(case, machine.cache) - 1)
        ]
        contenders: list[tuple[str, list[Call]]] = [("ours", [lambda s=s: s.run(machine) for s in sets])]
        for peer in peers_of(work, machine):
            noted = Peer(peer.name, note=BEGUN)
            row.peers.append(noted)
            yield row
            why_not = budget.why_not_compile(peer.compiling) if peer.compiling else ""
            if why_not:
                noted.note = why_not
                continue
            try:
                calls = peer.make(sets)
                calls[0]()
                machine.finish()
                contenders.append((peer.name, calls))
            except Exception as e:  # noqa: BLE001: a peer that cannot do it is no contender
                noted.note = reason(e)
            clear()
        graphs, called, failures = seconds_of(contenders, machine, check, clear)
        row.seconds, row.called = graphs["ours"].seconds, called["ours"].seconds
        timed = [name for name, _ in contenders[1:]]
        row.peers = [p for p in row.peers if p.name not in timed]
        for name in timed:
            timings = graphs if name in graphs else called  # like beside like
            r = measure.ratio(timings["ours"], timings[name])
            single = measure.ratio(called["ours"], called[name]).median
            note = failures.get(name, "")
            row.peers.append(Peer(name, timings[name].seconds, (r.median, r.low, r.high), single, note))
        row.limit, row.bound = limit_of(case, work, rates)
        row.note = ""
    finally:
        for s in sets:
            s.handle.close()


def limit_of(case: Case, work: Workload, rates: dict[str, float]) -> tuple[float, str]:
    """The larger of the bytes at the run's copy rate and the FLOPs at its rate of products."""
    parts = work.rates or {str(DTYPES[case.inputs[0].dtype]).removeprefix("torch."): 1.0}
    moving = work.bytes(case) / rates["copy"]
    known = all(kind in rates for kind in parts)
    computing = sum(work.flops(case) * part / rates[kind] for kind, part in parts.items()) if known else 0.0
    return (computing, f"{' and '.join(parts)} products") if computing > moving else (moving, "copy")


def bench_functions(
    rung: str, library: Library, machine: Machine, rates: dict[str, float], budget: Budget
) -> Iterator[Row]:
    for i, case in enumerate(library.cases):
        row = Row(case.name, facts=dict(case.facts))
        if budget.spent:
            row.note = "not measured: the time was up"
        else:
            share = budget.share(len(library.cases) - i, LEAST_SHARE)
            try:
                yield from bench_case(row, rung, library, case, machine, rates, share)
            except Exception as e:  # noqa: BLE001: of the library, of CUDA: the other cases may still go
                row.failed, row.note = True, reason(e)
            machine.release()
        yield row
