"""Without PyTorch: our side alone, not compared with anything, beside the run's copy rate and GEMM rate."""

from __future__ import annotations

import array
import random
import time
from collections.abc import Iterator
from pathlib import Path

import measure
import memory
from budget import Budget
from library import BYTES, Array, Case, Handle, Library
from results import Row

TILE = 1 << 18  # elements that are drawn; a larger array repeats them
COPIED = 1 << 30  # bytes
NOTE = "no PyTorch here: not checked, no peers"


def drawn(a: Array) -> bytes:
    """Random normals; indices below 10, which every axis has; all else is zero. At most TILE."""
    count = min(a.elements, TILE)
    if a.dtype in ("f32", "bf16"):
        wide = array.array("f", [random.gauss(0, 1) for _ in range(count)]).tobytes()
        return (
            wide
            if a.dtype == "f32"
            else bytes(b for i in range(0, len(wide), 4) for b in wide[i + 2 : i + 4])
        )
    if a.dtype in ("i32", "u16"):
        return array.array(
            "i" if a.dtype == "i32" else "H", [random.randrange(10) for _ in range(count)]
        ).tobytes()
    return bytes(count * BYTES[a.dtype])


def fill(handle: Handle, at: int, a: Array) -> None:
    tile = drawn(a)
    for offset in range(0, a.bytes, len(tile)):
        handle.copy_from_host(at + offset, tile[: a.bytes - offset])


def by_marks(handle: Handle, call) -> measure.Contender:
    def run(calls: int) -> float:
        begin = handle.mark()
        for _ in range(calls):
            call()
        return handle.milliseconds(begin, handle.mark()) / 1e3

    return measure.Contender("ours", run)


def seconds_of_plan(library: Library, case: Case) -> float:
    handle = library.open(case)
    held = [library.allocate(max(a.bytes, 16)) for a in case.inputs + case.outputs]
    try:
        inputs, outputs = held[: len(case.inputs)], held[len(case.inputs) :]
        for at, a in zip(inputs, case.inputs):
            fill(handle, at, a)
        handle.bind(inputs, outputs)
        handle.run()
        handle.synchronize()
        return measure.take_turns([by_marks(handle, handle.run)])[0].seconds
    finally:
        handle.close()
        for memory in held:
            library.free(memory)


def batch_of(case: Case) -> list[array.array]:
    """On the host."""
    return [array.array("B", (drawn(a) * -(-a.elements // TILE))[: a.bytes]) for a in case.inputs]


def addresses_of(batch: list[array.array]) -> list[int]:
    return [x.buffer_info()[0] for x in batch]


def seconds_of_step(library: Library, case: Case) -> float:
    handle = library.open(case)
    try:
        batch = batch_of(case)

        def train(steps: int) -> float:
            begin = time.perf_counter()
            handle.train(1e-3, [addresses_of(batch)], steps)
            return time.perf_counter() - begin

        return measure.take_turns([measure.Contender("ours", train)], window=0.5)[0].seconds
    finally:
        handle.close()


def copy_rate(library: Library, handle: Handle) -> float:
    source, to = library.allocate(COPIED), library.allocate(COPIED)
    try:
        copied = by_marks(handle, lambda: handle.copy(to, source, COPIED))
        return 2 * COPIED / measure.take_turns([copied])[0].seconds
    finally:
        library.free(source)
        library.free(to)


def rates(products: Path) -> dict[str, float]:
    """By G1's library, whose first case is a cube's product."""
    library = Library(products)
    cube = library.cases[0]
    handle = library.open(cube)
    found = {"copy": copy_rate(library, handle)}
    handle.close()
    found["bfloat16"] = cube.matmul_flops / seconds_of_plan(library, cube)
    return found


def bench(library: Library, found: dict[str, float], budget: Budget) -> Iterator[Row]:
    for case in library.cases:
        if budget.spent:
            yield Row(case.name, note="not measured: the time was up")
            continue
        try:
            seconds = (seconds_of_step if case.trains else seconds_of_plan)(library, case)
        except RuntimeError as e:  # the other cases may still go
            yield Row(case.name, note=f"{type(e).__name__}: {e}"[:200], failed=True)
            continue
        row = Row(case.name, seconds=seconds, called=seconds, note=NOTE)
        if not case.name.endswith(" f8"):  # the rate of such products is not known here
            moving, computing = case.bytes_in_and_out / found["copy"], case.matmul_flops / found["bfloat16"]
            row.bound = "bfloat16 products" if computing > moving or case.trains else "copy"
            row.limit = computing if case.trains else max(moving, computing)
        row.facts.update(case.facts)
        yield row


def bench_memory(library: Library) -> Iterator[Row]:
    """M1 without its peers."""
    case = library.cases[0]
    row = memory.begun(case)
    batch = batch_of(case)
    try:
        memory.take_steps(row, library, case, [addresses_of(batch)], lambda _: None)
    except RuntimeError as e:
        row.failed, row.note = True, f"{type(e).__name__}: {e}"[:200]
    yield row
