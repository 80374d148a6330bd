"""The rungs of functions, K, G, E and A: first right, then in turns with the peers, on cold inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import measure
import torch
from budget import Budget
from library import Case, Handle, Library, LibraryError
from machine import Machine
from measure import Contender
from results import AUTOTUNED, BEGUN, Peer, Row
from torch import Tensor
from torch.nn.attention import sdpa_kernel
from workloads import DTYPES, Tensors, Workload, difference, tolerance, workload

SHORT = 2e-3  # seconds: below this, what a launch takes is worth leaving out
CALLS_IN_A_GRAPH = 20
COMPILING = {"default": 5.0, AUTOTUNED: 12.0}  # seconds, a guess

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


@dataclass(frozen=True)
class PeerCall:
    """`context`: within which it is called, which chooses a backend of attention. `mode` of torch.compile."""

    name: str
    compute: Callable[..., object]
    context: Callable[[], AbstractContextManager] = nullcontext
    mode: str | None = None


def peers_of(work: Workload, machine: Machine) -> list[PeerCall]:
    if work.backends and not machine.host:
        return [PeerCall(b.name, work.compute, lambda b=b: sdpa_kernel(b)) for b in work.backends]
    ways = {"": work.compute, **{f", {name}": compute for name, compute in work.variants.items()}}
    found = [PeerCall(f"eager{name}", compute) for name, compute in ways.items()]
    for mode in work.modes:
        for name, compute in ways.items():
            compiled = torch.compile(compute, mode=mode, dynamic=False)  # when it is called
            found.append(PeerCall(f"compile {mode}{name}", compiled, mode=mode))
    return found


def in_turn(calls: Sequence[Call]) -> Call:
    """The next of them at each call: sets of inputs one after the other."""
    each = itertools.cycle(calls)
    return lambda: next(each)()


Timings = dict[str, measure.Timing]
Failures = dict[str, str]  # by a peer's name: why it was not captured


def reason(e: Exception) -> str:
    first = (str(e).splitlines() or [""])[0]
    return f"{type(e).__name__}: {first[:120]}"


def seconds_of(
    contenders: list[tuple[str, list[Call]]], machine: Machine
) -> tuple[Timings, Timings, Failures]:
    """By name: as captured in one graph, and as called one by one. Long work, the host's, and what cannot be
    captured are only called.
    """
    called = [Contender(name, machine.by_events(in_turn(calls))) for name, calls in contenders]
    one_by_one = {t.name: t for t in machine.compare(called)}
    if machine.host or one_by_one[contenders[0][0]].seconds > SHORT:
        return one_by_one, one_by_one, {}
    replayed, captured, failures = [], {}, {}
    for name, calls in contenders:
        many = calls * -(-CALLS_IN_A_GRAPH // len(calls))
        try:
            replayed.append(Contender(name, machine.by_events(machine.captured(many))))
            captured[name] = len(many)
        except Exception as e:  # noqa: BLE001: a peer is then only called
            if name == contenders[0][0]:
                raise
            failures[name] = f"not in a CUDA graph ({reason(e)}): both called one by one"
    return {t.name: t.shared_by(captured[t.name]) for t in machine.compare(replayed)}, one_by_one, failures


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
    try:
        row.error = error_of(sets[0], work, machine)
        if not row.right:
            row.note = "wrong, and so not timed"
            return
        sets += [
            make_set(library, case, work, machine) for _ in range(number_of_sets(case, machine.cache) - 1)
        ]
        contenders: list[tuple[str, list[Call]]] = [("ours", [lambda s=s: s.run(machine) for s in sets])]
        if work.others:
            contenders += [(name, [make(machine.device)]) for name, make in work.others.items()]
        else:
            for peer in peers_of(work, machine):
                noted = Peer(peer.name, note=BEGUN)
                row.peers.append(noted)
                yield row
                why_not = budget.why_not_compile(COMPILING[peer.mode]) if peer.mode is not None else ""
                if why_not:
                    noted.note = why_not
                    continue
                calls = [lambda p=peer, s=s: called_in(p, work, s) for s in sets]
                try:
                    calls[0]()
                    machine.finish()
                    contenders.append((peer.name, calls))
                except Exception as e:  # noqa: BLE001: a peer that cannot do it is no contender
                    noted.note = reason(e)
        graphs, called, failures = seconds_of(contenders, machine)
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


def called_in(peer: PeerCall, work: Workload, s: InputSet) -> None:
    with peer.context():
        work.call(peer.compute, s.prepared)


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
            share = budget.share(len(library.cases) - i)
            try:
                yield from bench_case(row, rung, library, case, machine, rates, share)
            except Exception as e:  # noqa: BLE001: of the library, of CUDA: the other cases may still go
                row.failed, row.note = True, reason(e)
            machine.release()
        yield row
