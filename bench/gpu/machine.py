"""The machine under the benchmarks: clock, stream, CUDA graphs, and the rates that times are judged by."""

from __future__ import annotations

import gc
import platform
import subprocess
from collections.abc import Callable, Sequence

import measure
import torch
from measure import Contender, Timing


def clocks() -> str:
    """What nvidia-smi says of the device now; empty where there is none."""
    asked = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
    try:
        said = subprocess.run(
            ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said.stdout.splitlines()[0].strip()


class Machine:
    """A GPU, or with `host` this processor, which plays one."""

    def __init__(self, host: bool) -> None:
        self.host = host
        self.device = torch.device("cpu" if host else "cuda")
        self.stream = None if host else torch.cuda.Stream()
        if self.stream is not None:
            torch.cuda.set_stream(self.stream)

    @property
    def name(self) -> str:
        return f"{platform.machine()} playing a GPU" if self.host else torch.cuda.get_device_name()

    @property
    def handle(self) -> int | None:
        """The stream's, for a library."""
        return None if self.stream is None else self.stream.cuda_stream

    @property
    def cache(self) -> int:
        """Bytes of the last cache; the host's does not matter."""
        return 0 if self.host else torch.cuda.get_device_properties(0).L2_cache_size

    def finish(self) -> None:
        if not self.host:
            torch.cuda.synchronize()

    def release(self) -> None:
        """Gives back what nothing holds any more. After an error that lasts, CUDA refuses even this; whoever
        uses the device next will say so.
        """
        gc.collect()
        torch._dynamo.reset()
        try:
            if not self.host:
                torch.cuda.empty_cache()
        except RuntimeError:
            pass

    def by_events(self, call: Callable[[], object]) -> Callable[[int], float]:
        """Times calls that put work into the stream."""
        if self.host:
            return measure.by_wall_clock(call, self.finish)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def run(calls: int) -> float:
            begin.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1e3

        return run

    def captured(self, calls: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """All of the calls, warm, as one CUDA graph."""
        for call in calls:
            call()
        self.finish()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for call in calls:
                call()
        return graph.replay

    def take_turns(self, contenders: Sequence[Contender], window: float = measure.WINDOW) -> list[Timing]:
        """On the host, whose times say nothing, once and shortly."""
        if self.host:
            return measure.take_turns(contenders, rounds=1, window=1e-3, warm=1)
        return measure.take_turns(contenders, window=window)

    def settled(
        self,
        contenders: Sequence[Contender],
        timings: list[Timing],
        window: float = measure.WINDOW,
        spread: float = measure.SPREAD,
    ) -> list[Timing]:
        """Once again where they vary by more; on the host never."""
        if self.host:
            return timings
        return measure.settled(contenders, timings, window=window, spread=spread)

    def compare(
        self,
        contenders: Sequence[Contender],
        window: float = measure.WINDOW,
        spread: float = measure.SPREAD,
    ) -> list[Timing]:
        return self.settled(contenders, self.take_turns(contenders, window), window, spread)

    def rates(self, kinds: Sequence[torch.dtype]) -> dict[str, float]:
        """Bytes a second of a large copy, read and written; FLOPs a second of a large random product."""
        found = {"copy": self.copy_rate(1 << 20 if self.host else 1 << 30)}
        for kind in kinds:
            size = 64 if self.host else 4096 if kind == torch.float32 else 8192
            name = str(kind).removeprefix("torch.")
            if kind == torch.float8_e4m3fn:
                found[name] = self.rate_in_8_bits(size, fast=False)
                found[f"{name}, fast accumulation"] = self.rate_in_8_bits(size, fast=True)
            else:
                found[name] = self.product_rate(kind, size)
        return found

    def copy_rate(self, bytes_: int) -> float:
        source, to = (torch.empty(bytes_, dtype=torch.uint8, device=self.device).random_() for _ in range(2))
        return 2 * bytes_ / self.seconds_of(lambda: to.copy_(source))

    def product_rate(self, kind: torch.dtype, size: int) -> float:
        a, b = (torch.randn(size, size, dtype=kind, device=self.device) for _ in range(2))
        out = torch.empty_like(a)
        return 2 * size**3 / self.seconds_of(lambda: torch.mm(a, b, out=out))

    def rate_in_8_bits(self, size: int, fast: bool) -> float:
        """Of e4m3 into bf16, both operands by their sums. On Hopper slower without fast accumulation."""
        a, b = (torch.randn(size, size, device=self.device).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device=self.device)
        return (
            2
            * size**3
            / self.seconds_of(
                lambda: torch._scaled_mm(
                    a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast
                )
            )
        )

    def seconds_of(self, call: Callable[[], object]) -> float:
        return self.compare([Contender("rate", self.by_events(call))])[0].seconds
