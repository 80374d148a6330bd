"""What was measured, as data, and as tables: one JSON file a rung, and all of a folder's as one page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from budget import LEFT_OUT, NO_TIME
from measure import geometric_mean

BEGUN = "begun, and not ended"


@dataclass
class Peer:
    """`ratio` is its time over ours; `called`, that of single calls, each launched from here."""

    name: str
    seconds: float | None = None
    ratio: tuple[float, float, float] | None = None  # median, lowest, highest
    called: float | None = None
    note: str = ""  # why it was not measured, or not as the others

    @property
    def middle(self) -> float:
        return self.ratio[0] if self.ratio is not None else math.inf

    @property
    def waits(self) -> bool:
        """For time: another run may measure it."""
        return self.ratio is None and self.note.startswith((BEGUN, NO_TIME, LEFT_OUT))


@dataclass
class Row:
    """Of a case. `error` of norms, relative; `share`: of what the run's own rates allow, `limit` seconds.
    `failed`: ours threw, and `note` says what.
    """

    case: str
    error: float | None = None
    tolerance: float | None = None
    seconds: float | None = None
    called: float | None = None
    limit: float | None = None
    bound: str = ""
    peers: list[Peer] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    note: str = ""
    failed: bool = False

    @property
    def wrong(self) -> bool:
        """It was compared, and is not right."""
        return self.error is not None and not self.right

    @property
    def right(self) -> bool:
        """Not where nothing was compared, nor where the error is NaN."""
        return self.error is not None and self.tolerance is not None and self.error <= self.tolerance

    @property
    def complete(self) -> bool:
        """Nothing of it waits for another run."""
        timed = self.right and not self.failed and self.seconds is not None
        return timed and not any(p.waits for p in self.peers)

    @property
    def share(self) -> float | None:
        return self.limit / self.seconds if self.limit and self.seconds else None

    @property
    def best(self) -> Peer | None:
        measured = [p for p in self.peers if p.seconds is not None and p.ratio is not None]
        return min(measured, key=lambda p: nan_first(p.middle), default=None)

    def fastest(self, names: Sequence[str]) -> Peer | None:
        named = [p for p in self.peers if p.name in names and p.ratio is not None]
        return min(named, key=lambda p: nan_first(p.middle), default=None)

    def unmeasured(self, names: Sequence[str] | None) -> list[str]:
        """Of these peers; of all that the row knows of where there are no names."""
        measured = {p.name for p in self.peers if p.ratio is not None}
        return [n for n in ([p.name for p in self.peers] if names is None else names) if n not in measured]


@dataclass
class Result:
    rung: str
    machine: str
    software: str
    date: str
    rates: dict[str, float]
    clocks: tuple[str, str] = ("", "")
    seconds: float = 0
    rows: list[Row] = field(default_factory=list)
    note: str = ""
    judged: bool = True  # not on a host that plays a GPU: its times say nothing

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.rung}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")

    @staticmethod
    def read(path: Path) -> Result:
        data = json.loads(path.read_text())
        rows = data.pop("rows")
        for row in rows:
            row["peers"] = [Peer(**{**p, "ratio": p["ratio"] and tuple(p["ratio"])}) for p in row["peers"]]
        return Result(**data, rows=[Row(**r) for r in rows])


PAGE = "README.md"

# ---- bars


@dataclass(frozen=True)
class Bar:
    """`value` of what was measured, None where it was not; higher is better. `peers`: with which it compares,
    by name; None: with all.
    """

    text: str
    at_least: float
    value: Callable[[Sequence[Row]], float | None]
    peers: Sequence[str] | None = None

    def verdict(self, rows: Sequence[Row]) -> str:
        if not rows or not all(row.right and not row.failed for row in rows):
            return f"{self.text}: not judged, as not all cases were measured and right"
        value = self.value(rows)
        said = f"{self.text}: " if value is None else f"{self.text}: {value:.3g}, "
        missing = dict.fromkeys(name for row in rows for name in row.unmeasured(self.peers))
        if value is not None and not value >= self.at_least:  # one more peer could not raise it; nor is NaN met
            return said + "MISSED"
        if missing:
            return f"{said}not judged: {', '.join(missing)} was not measured"
        return said + ("not measured" if value is None else "met")


@dataclass(frozen=True)
class Same:
    """That two facts of each row are one number: met, or missed."""

    text: str
    facts: tuple[str, str]

    def verdict(self, rows: Sequence[Row]) -> str:
        pairs = [tuple(row.facts.get(name) for name in self.facts) for row in rows]
        if any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return f"{self.text}: MISSED"
        measured = bool(pairs) and not any(None in pair for pair in pairs)
        return f"{self.text}: {'met' if measured else 'not judged, as not all cases were measured'}"


@dataclass(frozen=True)
class Exact:
    """That each row is right to the last digit: met, or missed."""

    text: str

    def verdict(self, rows: Sequence[Row]) -> str:
        if any(row.wrong for row in rows):
            return f"{self.text}: MISSED"
        measured = bool(rows) and all(row.right and not row.failed for row in rows)
        return f"{self.text}: {'met' if measured else 'not judged, as not all cases were measured'}"


def least(values: list[float | None]) -> float | None:
    """NaN where one is."""
    return None if not values or None in values else min((v for v in values if v is not None), key=nan_first)


def nan_first(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def lowest_share(rows: Sequence[Row]) -> float | None:
    return least([row.share for row in rows])


def ratios(rows: Sequence[Row], names: Sequence[str] | None = None) -> list[float | None]:
    peers = [row.best if names is None else row.fastest(names) for row in rows]
    return [p.middle if p is not None else None for p in peers]


def lowest_ratio(names: Sequence[str] | None = None) -> Callable[[Sequence[Row]], float | None]:
    return lambda rows: least(ratios(rows, names))


def mean_ratio(rows: Sequence[Row]) -> float | None:
    each = ratios(rows)
    return None if not each or None in each else geometric_mean([r for r in each if r is not None])


def of_fact(name: str) -> Callable[[Sequence[Row]], float | None]:
    return lambda rows: least([row.facts.get(name) for row in rows])


EAGER = "eager"
AUTOTUNED = "max-autotune-no-cudagraphs"  # a mode of torch.compile
IN_A_GRAPH = "whole step in a CUDA graph"
RESIDUAL_IN_BF16 = "residual in bf16"
COMPILED = ("compile default", f"compile {AUTOTUNED}")
GRAPHED = tuple(f"{how}, {IN_A_GRAPH}" for how in (EAGER, *COMPILED))

# T6's peers: T4's, and those
OURS_IN_BF16 = "ours in bf16 (T4)"
IN_8_BITS = "in 8 bits, "  # PyTorch, by the same ways
IN_BF16 = (EAGER, *(name for how in COMPILED for name in (how, f"{how}, {IN_A_GRAPH}")))
PEERS_IN_8_BITS = tuple(f"{IN_8_BITS}{name}" for name in IN_BF16)
PLANNED, ASKED = "planned bytes", "bytes asked for at most"

BEST = "of the best peer's speed, in the worst case"
SHARE = Bar("share of copy bandwidth, in the worst case, at least 0.90", 0.90, lowest_share, ())
EQUAL_BYTES = "as many bytes are asked for as are planned, to the byte"
BARS: dict[str, list[Bar | Exact | Same]] = {
    "k1": [
        Bar(f"1.0 {BEST}", 1.0, lowest_ratio()),
        Bar("share of copy bandwidth 0.96 (extreme)", 0.96, lowest_share, ()),
    ],
    "k2": [SHARE, Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "k3": [SHARE, Bar(f"1.3 {BEST}", 1.3, lowest_ratio())],
    "k4": [SHARE, Bar(f"1.5 {BEST}", 1.5, lowest_ratio())],
    "k5": [SHARE, Bar(f"1.2 {BEST}", 1.2, lowest_ratio())],
    "k6": [Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "k7": [
        Bar(f"1.0 {BEST}", 1.0, lowest_ratio()),
        Bar("share of copy bandwidth 0.90 (extreme)", 0.90, lowest_share, ()),
    ],
    "g1": [Bar(f"0.99 {BEST}", 0.99, lowest_ratio()), Bar("geometric mean 1.03 (good)", 1.03, mean_ratio)],
    "g2": [Bar(f"1.05 {BEST}", 1.05, lowest_ratio())],
    "g3": [
        Bar(f"1.0 {BEST}", 1.0, lowest_ratio()),
        Bar(f"1.2 {BEST} (good)", 1.2, lowest_ratio()),
        Bar("share of the rate of plain 8-bit products 0.75 (extreme)", 0.75, lowest_share, ()),
    ],
    "e1": [
        Bar("geometric mean of the ratios, at least 1.3", 1.3, mean_ratio),
        Bar(f"0.95 {BEST}", 0.95, lowest_ratio()),
    ],
    "a1": [Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "t1": [
        Bar("20 times eager", 20, lowest_ratio((EAGER,)), (EAGER,)),
        Bar("twice the whole step in a CUDA graph", 2, lowest_ratio(GRAPHED), GRAPHED),
    ],
    "t2": [Bar("1.0 of the whole step in a CUDA graph", 1, lowest_ratio(GRAPHED), GRAPHED)],
    "t3": [Bar(f"1.2 {BEST}", 1.2, lowest_ratio())],
    "t4": [
        Bar("1.15 of the best peer's speed", 1.15, lowest_ratio()),
        Bar("MFU 0.59 (goal)", 0.59, of_fact("MFU"), ()),
    ],
    "t6": [
        Bar("1.1 of the speed of ours in bf16", 1.1, lowest_ratio((OURS_IN_BF16,)), (OURS_IN_BF16,)),
        Bar("1.2 of it (extreme)", 1.2, lowest_ratio((OURS_IN_BF16,)), (OURS_IN_BF16,)),
        Bar("1.2 of the best peer's speed in bf16", 1.2, lowest_ratio(IN_BF16), IN_BF16),
        Bar(
            "1.0 of the best peer's speed in 8 bits",
            1.0,
            lowest_ratio(PEERS_IN_8_BITS),
            PEERS_IN_8_BITS,
        ),
        Same(EQUAL_BYTES, (PLANNED, ASKED)),
    ],
    "t5_350m": [Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "t5_774m": [Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "t5_1558m": [Bar(f"1.0 {BEST}", 1.0, lowest_ratio())],
    "m1": [
        Exact(EQUAL_BYTES),
        Bar("PyTorch's peak over ours, at least 1/0.9", 1 / 0.9, of_fact("peer's peak / ours")),
    ],
}


# ---- tables


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e6:.3f} us"


def ratio_text(peer: Peer | None) -> str:
    if peer is None or peer.ratio is None:
        return "-"
    middle, low, high = peer.ratio
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def fact_text(value: float) -> str:
    """Counts to the last digit."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def lines_of(result: Result) -> list[str]:
    """A rung as markdown: its table, what became of its bars, and what was not measured."""
    rates = ", ".join(
        f"{name} {rate / 1e12:.4g} {'TB/s' if name == 'copy' else 'TFLOP/s'}"
        for name, rate in result.rates.items()
    )
    lines = [f"## {result.rung.upper()}", "", f"{result.machine}; {result.software}; {result.date}."]
    lines += [f"The run's own rates: {rates}." if rates else "No rates were measured."]
    if any(result.clocks):
        lines.append(f"Clocks, power and temperature: {result.clocks[0]} before, {result.clocks[1]} after.")
    if result.note:
        lines.append(result.note)
    lines += ["", "| case | error | ours | of the limit | best peer | its time / ours | called one by one |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in result.rows:
        best = row.best
        error = "not checked" if row.error is None else f"{row.error:.1e}{' WRONG' if row.wrong else ''}"
        error += " FAILED" if row.failed else ""
        share = "-" if row.share is None else f"{row.share:.1%} of {row.bound}"
        called = "-" if best is None or best.called is None else f"{best.called:.3g}"
        name = "-" if best is None else f"{best.name}, {duration(best.seconds)}"
        lines.append(
            f"| {row.case} | {error} | {duration(row.seconds)} | {share} | {name} "
            f"| {ratio_text(best)} | {called} |"
        )
    lines.append("")
    if result.judged:
        lines += [f"- {bar.verdict(result.rows)}" for bar in BARS.get(result.rung, [])]
    for row in result.rows:
        facts = [f"{name} {fact_text(value)}" for name, value in row.facts.items()]
        others = [f"{p.name} {ratio_text(p)}" for p in row.peers if p is not row.best and p.ratio is not None]
        missing = [f"{p.name}{'' if p.ratio else ' not measured'}: {p.note}" for p in row.peers if p.note]
        said = [*facts, *others, *missing, *([row.note] if row.note else [])]
        if said:
            lines.append(f"- {row.case}: " + "; ".join(said))
    return [*lines, ""]


def write_page(folder: Path) -> None:
    """All rungs of a folder, in the ladder's order."""
    found = {path.stem: Result.read(path) for path in folder.glob("*.json")}
    page = ["# The ladder on a GPU", ""]
    for rung in [*(r for r in BARS if r in found), *sorted(found.keys() - BARS.keys())]:
        page += lines_of(found[rung])
    (folder / PAGE).write_text("\n".join(page))
