"""M1, our half: a step asks for as many bytes of the device as its plan says, and gives all of them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from library import Case, Handle, Library
from results import ASKED, PLANNED, Row

STEPS = 2
RATE = 1e-3
T = TypeVar("T")


def begun(case: Case) -> Row:
    row = Row(case.name, tolerance=0)
    row.facts[PLANNED] = case.memory
    row.facts.update(case.facts)
    return row


def take_steps(
    row: Row, library: Library, case: Case, batches: Sequence[Sequence[int]], ask: Callable[[Handle], T]
) -> T:
    """Steps on batches at these addresses; `ask` is asked while the case is still open. The row's error is in
    bytes: what was asked for at most is what was planned, no more and no less, and nothing is left.
    """
    handle = library.open(case)
    try:
        row.facts["first loss"] = handle.train(RATE, batches, STEPS)[0]
        answer = ask(handle)
    finally:
        handle.close()
    most, left = library.allocated_most, library.allocated
    row.facts[ASKED] = most
    row.error = abs(most - case.memory) + left
    if left:
        row.facts["bytes never given back"] = left
    return answer
