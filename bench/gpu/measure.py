"""Contenders in turns: what each takes, and how one compares with another in the same rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

ROUNDS = 7
WINDOW = 0.05  # seconds of a contender in a round, half of it on the way there and half on the way back
WARM = 3  # calls before anything is timed: torch.compile's CUDA graphs are recorded in the second
SPREAD = 0.03  # of the ratios' range, by the median: more is measured once again


@dataclass(frozen=True)
class Contender:
    """`run(n)` does its work n times and returns the seconds that all of it took."""

    name: str
    run: Callable[[int], float]


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median over rounds, and each round's."""

    name: str
    seconds: float
    rounds: tuple[float, ...]

    def shared_by(self, calls: int) -> Timing:
        """Of one of so many calls that were timed as one."""
        return Timing(self.name, self.seconds / calls, tuple(t / calls for t in self.rounds))


@dataclass(frozen=True)
class Ratio:
    """How much longer a peer takes: the median of the rounds' ratios, the lowest and the highest."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        return (self.high - self.low) / self.median


def calls_for(contender: Contender, seconds: float, least: int = 1, warm: int = WARM) -> int:
    """So many calls take about so long. Warms up, too."""
    contender.run(warm)
    calls = 1
    while True:
        took = contender.run(calls)
        if took >= seconds / 4:  # asked twice, as the first may have set something up
            took = contender.run(calls)
        if took >= seconds / 4 or calls >= 1 << 16:
            return max(least, math.ceil(calls * seconds / max(took, 1e-9)))
        calls *= 4


def take_turns(
    contenders: Sequence[Contender], rounds: int = ROUNDS, window: float = WINDOW, warm: int = WARM
) -> list[Timing]:
    """Each round goes through all of them, and back: what drifts falls on all alike."""
    calls = [calls_for(c, window / 2, warm=warm) for c in contenders]
    took: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        there = [c.run(n) / n for c, n in zip(contenders, calls)]
        back = [c.run(n) / n for c, n in zip(reversed(contenders), reversed(calls))]
        for times, first, second in zip(took, there, reversed(back)):
            times.append((first + second) / 2)
    return [Timing(c.name, median(t), tuple(t)) for c, t in zip(contenders, took)]


def ratio(ours: Timing, peer: Timing) -> Ratio:
    each = [theirs / own for own, theirs in zip(ours.rounds, peer.rounds, strict=True)]
    return Ratio(median(each), min(each), max(each))


def settled(
    contenders: Sequence[Contender],
    timings: list[Timing],
    rounds: int = ROUNDS,
    window: float = WINDOW,
    spread: float = SPREAD,
) -> list[Timing]:
    """Timings as they are; once again, and longer, where a ratio with the first varies too much."""
    if any(not ratio(timings[0], t).spread <= spread for t in timings[1:]):
        return take_turns(contenders, rounds, 2 * window)
    return timings


def compare(
    contenders: Sequence[Contender], rounds: int = ROUNDS, window: float = WINDOW, spread: float = SPREAD
) -> list[Timing]:
    return settled(contenders, take_turns(contenders, rounds, window), rounds, window, spread)


def seconds_of_turns(contenders: int, window: float, rounds: int = ROUNDS) -> float:
    """About so many seconds pass as they take turns once: with what goes before, to warm up and to count."""
    return contenders * window * (rounds + 1.5)


def by_wall_clock(call: Callable[[], object], finish: Callable[[], None]) -> Callable[[int], float]:
    """`finish` waits for all that was called."""

    def run(calls: int) -> float:
        finish()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        finish()
        return time.perf_counter() - begin

    return run


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))
