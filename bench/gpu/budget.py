"""The time that a rung may take; what does not fit is left out, and said."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

NO_TIME = "no time was left"
LEFT_OUT = "torch.compile was left out"


@dataclass
class Budget:
    seconds: float
    compiling: bool = True  # whether torch.compile is a peer at all
    begun: float = field(default_factory=lambda: time.monotonic())

    @property
    def used(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.used

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def share(self, cases: int, least: float = 0) -> Budget:
        """Of one of so many cases that are left, all alike: what one does not use is the others'. Of `least`
        seconds, where there are so many: the last cases then wait for another run.
        """
        if least > 0:
            cases = min(cases, max(1, int(self.left // least)))
        return Budget(max(self.left, 0) / cases, self.compiling)

    def why_not_compile(self, guess: float, anyway: bool = False) -> str:
        """Empty where what compiles for about so many seconds, and is measured then, may begin. `anyway`: however
        long, as more time than now will never be left.
        """
        if not self.compiling:
            return LEFT_OUT
        return "" if self.left > (0 if anyway else guess) else f"{NO_TIME} to compile it, some {guess:.0f} s"
