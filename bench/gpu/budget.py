"""The time that a rung may take; what does not fit is left out, and said."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Budget:
    seconds: float
    compiling: bool = True  # whether torch.compile is a peer at all
    begun: float = field(default_factory=time.monotonic)

    @property
    def used(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.used

    @property
    def spent(self) -> bool:
        return self.left <= 0

    @property
    def allows_compiling(self) -> bool:
        """It takes a while, and what is measured after it does, too."""
        return self.compiling and self.left > self.seconds / 4
