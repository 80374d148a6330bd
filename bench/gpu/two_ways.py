"""Contenders two ways: their kernels alone, replayed as one CUDA graph, and as called one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Protocol

import measure
from measure import Contender, Timing

SHORT = 2e-3  # seconds: below this, what a launch takes is worth leaving out
CALLS_IN_A_GRAPH = 20

Call = Callable[[], object]


class Clock(Protocol):
    """What is asked of a machine (machine.py)."""

    host: bool

    def by_events(self, call: Call) -> Callable[[int], float]: ...
    def captured(self, calls: Sequence[Call]) -> Call: ...
    def take_turns(self, contenders: Sequence[Contender]) -> list[Timing]: ...
    def settled(self, contenders: Sequence[Contender], timings: list[Timing]) -> list[Timing]: ...


def in_turn(calls: Sequence[Call]) -> Call:
    """The next of them at each call: sets of inputs one after the other."""
    each = itertools.cycle(calls)
    return lambda: next(each)()


class Kept:
    """The result of the last call on a set of inputs, so that the next set's lies elsewhere and is as cold as what
    ours writes. It goes just before the next call, which may then have its memory: no more is held than there
    are sets.
    """

    def __init__(self) -> None:
        self.result: object = None

    def call(self, compute: Call) -> None:
        self.result = None
        self.result = compute()

    def clear(self) -> None:
        self.result = None


Timings = dict[str, Timing]
Failures = dict[str, str]  # by a peer's name: why it was not captured


def reason(e: Exception) -> str:
    first = (str(e).splitlines() or [""])[0]
    return f"{type(e).__name__}: {first[:120]}"


def by_name(timings: Sequence[Timing]) -> Timings:
    return {t.name: t for t in timings}


def seconds_of(
    contenders: Sequence[tuple[str, Sequence[Call]]],
    machine: Clock,
    check: Callable[[Call], None],
    between: Callable[[], None] = lambda: None,
) -> tuple[Timings, Timings, Failures]:
    """By name: as captured in one graph, and as called one by one. Long work, the host's, and what cannot be
    captured are only called. What is called is measured again where it varies only if nothing else is compared.
    `check`: is given the replay of ours, before it is timed, and throws where its results are others than those
    of a call. `between`: after each contender's capture, and at the end.
    """
    called = [Contender(name, machine.by_events(in_turn(calls))) for name, calls in contenders]
    one_by_one = machine.take_turns(called)
    if machine.host or one_by_one[0].seconds > SHORT:
        one_by_one = machine.settled(called, one_by_one)
        between()
        return by_name(one_by_one), by_name(one_by_one), {}
    ours = contenders[0][0]
    replayed, captured, failures = [], {}, {}
    for name, calls in contenders:
        between()
        many = list(calls) * -(-CALLS_IN_A_GRAPH // len(calls))
        try:
            replay = machine.captured(many)
            if name == ours:
                check(replay)
            replayed.append(Contender(name, machine.by_events(replay)))
            captured[name] = len(many)
        except Exception as e:  # noqa: BLE001: a peer is then only called
            if name == ours:
                raise
            failures[name] = f"not in a CUDA graph ({reason(e)}): both called one by one"
    between()
    if failures:  # these are compared as they are called
        one_by_one = machine.settled(called, one_by_one)
        between()
    graphs = machine.settled(replayed, machine.take_turns(replayed))
    return {t.name: t.shared_by(captured[t.name]) for t in graphs}, by_name(one_by_one), failures
