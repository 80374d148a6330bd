"""A rung's shared library (interface.cpp): its cases, and handles of those that are opened."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "u32": 4, "u16": 2, "b8": 1}


class LibraryError(RuntimeError):
    """What the library said of a call that failed."""


@dataclass(frozen=True)
class Array:
    name: str
    dtype: str
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.sizes)

    @property
    def bytes(self) -> int:
        return self.elements * BYTES[self.dtype]


@dataclass(frozen=True)
class Case:
    """`memory`: a plan's arena, a trainer's one allocation. Launches, bytes and FLOPs are the plan's. `facts`:
    what else its rung's file says of it.
    """

    index: int
    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    parameters: tuple[Array, ...]
    trains: bool
    memory: int
    launches: int
    bytes: int
    matmul_flops: int
    facts: dict[str, int]

    @property
    def bytes_in_and_out(self) -> int:
        return sum(a.bytes for a in self.inputs + self.outputs)


def _arrays(described: list[dict]) -> tuple[Array, ...]:
    return tuple(Array(a["name"], a["dtype"], tuple(a["sizes"])) for a in described)


def _pointers(addresses: Sequence[int]) -> ctypes.Array:
    return (ctypes.c_void_p * len(addresses))(*addresses)


STARTS = ("fastest", "in_turn", "early")  # as a trainer chooses by the clock; as it is told


class Library:
    starts: str = STARTS[0]  # of every library that is loaded from now on: when kernels of its steps begin

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        size, pointer, string = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
            ("cases", string, []),
            ("error", string, []),
            ("start", ctypes.c_int, [string]),
            ("open", pointer, [size, pointer]),
            ("close", None, [pointer]),
            ("bind", ctypes.c_int, [pointer, pointer, pointer]),
            ("run", ctypes.c_int, [pointer]),
            ("synchronize", ctypes.c_int, [pointer]),
            ("train", ctypes.c_int, [pointer, ctypes.c_double, pointer, size, pointer, size]),
            ("account", string, [pointer, size, ctypes.c_char_p, ctypes.c_double, pointer, size]),
            ("order", string, [pointer]),
            ("read", ctypes.c_int, [pointer, pointer]),
            ("write", ctypes.c_int, [pointer, pointer]),
            ("allocated", size, []),
            ("allocated_most", size, []),
            ("allocate", pointer, [size]),
            ("free", ctypes.c_int, [pointer]),
            ("copy_from_host", ctypes.c_int, [pointer, pointer, pointer, size]),
            ("copy", ctypes.c_int, [pointer, pointer, pointer, size]),
            ("mark", pointer, [pointer]),
            ("milliseconds", ctypes.c_float, [pointer, pointer]),
        ):
            function = getattr(self.c, f"bench_{name}")
            function.restype, function.argtypes = result, arguments
        self.checked(self.c.bench_start(self.starts.encode()))
        described = json.loads(self.checked(self.c.bench_cases()))
        self.cases = [
            Case(
                index=i,
                inputs=_arrays(c.pop("inputs")),
                outputs=_arrays(c.pop("outputs")),
                parameters=_arrays(c.pop("parameters")),
                **c,
            )
            for i, c in enumerate(described)
        ]

    def checked(self, result):
        if not result:
            raise LibraryError(self.c.bench_error().decode())
        return result

    def open(self, case: Case, stream: int | None = None) -> Handle:
        """On the caller's stream; without one, on one of the library's own."""
        return Handle(self, case, self.checked(self.c.bench_open(case.index, stream)))

    @property
    def allocated(self) -> int:
        """Bytes of the device that it holds."""
        return self.c.bench_allocated()

    @property
    def allocated_most(self) -> int:
        """That it held at once, of all that it was asked for until now."""
        return self.c.bench_allocated_most()

    def allocate(self, size: int) -> int:
        return self.checked(self.c.bench_allocate(size))

    def free(self, memory: int) -> None:
        self.checked(self.c.bench_free(memory))


class Handle:
    """An opened case. Addresses are the device's, but for those of `train`, `read` and `write`."""

    def __init__(self, library: Library, case: Case, handle: int) -> None:
        self.owner, self.case = library, case
        self.handle: int | None = handle

    def call(self, name: str, *arguments):
        return self.owner.checked(getattr(self.owner.c, f"bench_{name}")(self.handle, *arguments))

    def bind(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self.call("bind", _pointers(inputs), _pointers(outputs))

    def run(self) -> None:
        self.call("run")

    def synchronize(self) -> None:
        self.call("synchronize")

    def train(self, rate: float, batches: Sequence[Sequence[int]], steps: int) -> list[float]:
        """The losses of `steps` steps on the batches in turn, each an address for every input."""
        losses = (ctypes.c_float * steps)()
        flat = [address for batch in batches for address in batch]
        self.call("train", rate, _pointers(flat), len(batches), losses, steps)
        return list(losses)

    def account(self, device: str, rate: float, batches: Sequence[Sequence[int]]) -> str:
        """A table of what a step costs and how long each of its kernels took, on batches as `train` takes them."""
        flat = [address for batch in batches for address in batch]
        said = self.call("account", self.case.index, device.encode(), rate, _pointers(flat), len(batches))
        return said.decode()

    @property
    def order(self) -> str:
        """Of a step's launches: "in order", or "by data", so that some run beside others; ", early" behind it
        if kernels start before those that they wait for are over; and how many products the clock gave to our own
        kernel."""
        return self.call("order").decode()

    def read(self, to: int) -> None:
        self.call("read", to)

    def write(self, values: int) -> None:
        self.call("write", values)

    def copy_from_host(self, to: int, values: bytes) -> None:
        self.call("copy_from_host", to, values, len(values))

    def copy(self, to: int, source: int, size: int) -> None:
        self.call("copy", to, source, size)

    def mark(self) -> int:
        return self.call("mark")

    def milliseconds(self, first: int, last: int) -> float:
        """Between two marks, which are spent by it."""
        took = self.owner.c.bench_milliseconds(first, last)
        if not took >= 0:
            raise LibraryError(self.owner.c.bench_error().decode())
        return took

    def close(self) -> None:
        if self.handle:
            self.owner.c.bench_close(self.handle)
            self.handle = None
