"""Runs rungs of the ladder (README.md) against PyTorch, and writes what was measured.

    run.py --libraries build/gpu/bench/gpu --out results k2 t4

One process for each rung. Each writes OUT/RUNG.json, and all that lie there make the page OUT/README.md.
Without PyTorch only our side is measured; --host tries everything but the clock on this processor, at small
sizes, with the libraries of the target bench_host.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from budget import Budget
from library import STARTS, Library
from results import BARS, PAGE, Result, Row, fact_text, lines_of, write_page

LADDER = list(BARS)
SECONDS = 420.0
OF_8_BITS = ("g3", "t6")


def library_of(rung: str) -> str:
    return "t4" if rung == "m1" else rung  # M1 is the memory of T4


def path_of(folder: Path, rung: str, host: bool) -> Path:
    return folder / f"libbench_{'host' if host else 'gpu'}_{library_of(rung)}.so"


def built(folder: Path, rung: str, host: bool) -> Path:
    path = path_of(folder, rung, host)
    if not path.exists():
        raise SystemExit(f"run.py: no {path}: build the target {path.stem.removeprefix('lib')}")
    return path


def ask_device(what: str) -> str:
    """nvidia-smi, of the first GPU; empty where it names none."""
    asked = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        return said.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def name_of_device() -> str:
    name = ask_device("name,driver_version")
    if not name:
        raise SystemExit("run.py: nvidia-smi names no GPU; --host plays one on this processor")
    return name


def what_is_lacking(rung: str) -> str:
    """Of the device, so that it can run a rung; empty where it lacks nothing that is known."""
    capability = ask_device("compute_cap") if rung in OF_8_BITS else ""
    try:
        if not capability or float(capability) >= 8.9:
            return ""
    except ValueError:  # an nvidia-smi that does not know it
        return ""
    return f"Not run: the device has compute capability {capability}, and products of 8-bit floats begin with 8.9."


def earlier_rows(out: Path, rung: str, machine: str) -> list[Row]:
    """That an earlier run on the same device left in the folder."""
    path = out / f"{rung}.json"
    before = Result.read(path) if path.exists() else None
    return before.rows if before is not None and before.machine == machine else []


def keep(result: Result, out: Path) -> None:
    result.write(out)
    write_page(out)


def bench_with_torch(
    rung: str, path: Path, result: Result, out: Path, budget: Budget, earlier: list[Row], o: argparse.Namespace
) -> None:
    """`earlier`: rows of a run before, of which what was measured is kept."""
    import torch
    from functions import bench_functions
    from machine import Machine, clocks
    from training import bench_memory, bench_steps

    host = o.host
    if not host and not torch.cuda.is_available():
        raise SystemExit("run.py: PyTorch sees no GPU; --host plays one on this processor")
    torch.manual_seed(1)
    machine = Machine(host)
    library = Library(path)
    names = [case.name for case in library.cases]
    steps = library.cases[0].trains
    more_peers = steps and o.residual_in_bf16  # then no row has all of them
    result.rows = [row for row in earlier if row.case in names and row.complete and not more_peers]
    if result.rows:
        result.note = f"{len(result.rows)} rows are of an earlier run, whose rates they are judged by."
    known = {row.case for row in result.rows}
    library.cases = [case for case in library.cases if case.name not in known]
    result.software = f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    before, asked = clocks(), time.monotonic()
    kinds = [torch.bfloat16] + ([torch.float32] if rung == "e1" or steps else [])
    kinds += [torch.float8_e4m3fn] if rung in OF_8_BITS else []
    result.rates = {} if rung == "m1" else machine.rates(kinds)
    if rung == "m1":
        rows = bench_memory(library, machine, budget)
    elif steps:
        measured = {row.case: row.peers for row in earlier if row.right and not row.failed}
        t4 = path_of(path.parent, "t4", host)
        rows = bench_steps(library, machine, result.rates, budget, measured, t4, o.residual_in_bf16)
    else:
        rows = bench_functions(rung, library, machine, result.rates, budget)
    for row in rows:  # what is known is written at once, as the next may end the process
        if not any(other is row for other in result.rows):
            result.rows.append(row)
            result.rows.sort(key=lambda r: names.index(r.case))
        if time.monotonic() - asked > 5:  # asking takes a while, and rows come often
            result.clocks, asked = (before, clocks()), time.monotonic()
        keep(result, out)
    result.clocks = (before, clocks())


def bench_alone(rung: str, path: Path, folder: Path, result: Result, out: Path, budget: Budget) -> None:
    import bare

    result.software = f"no PyTorch, Python {platform.python_version()}"
    if rung == "m1":
        result.note = "PyTorch is missing: its peak is not known."
        rows = bare.bench_memory(Library(path))
    else:
        result.note = "PyTorch is missing: nothing was checked, and there are no peers."
        result.rates = bare.rates(path_of(folder, "g1", False))
        rows = bare.bench(Library(path), result.rates, budget)
    for row in rows:
        result.rows.append(row)
        keep(result, out)


def print_plans(rung: str, path: Path) -> None:
    """What the compiler says of a rung's cases: no device is asked."""
    for case in Library(path).cases:
        moved = "" if case.trains else f", {case.bytes / case.bytes_in_and_out:.2f} of what goes in and out"
        print(
            f"{rung:8} {case.name:44} {case.launches:4} launches, {case.bytes / 1e6:.1f} MB moved{moved}, "
            f"{case.memory / 1e6:.1f} MB of memory"
            + "".join(f"; {name} {fact_text(value)}" for name, value in case.facts.items())
        )


def print_account(rung: str, path: Path, host: bool) -> None:
    """Where the time of a rung's steps goes, on the first GPU. Functions have one kernel or two, and no account."""
    if find_spec("torch") is None:
        raise SystemExit("run.py: --account draws batches with PyTorch, which is not installed")
    import torch
    from training import RATE, addresses_of, batches_for

    device = "NVIDIA H200" if host else torch.cuda.get_device_name()
    library = Library(path)
    for case in library.cases:
        if not case.trains:
            print(f"{rung:8} {case.name:44} is no step")
            continue
        batches = batches_for(case)
        handle = library.open(case)
        try:
            print(handle.account(device, RATE, addresses_of(batches)), flush=True)
        finally:
            handle.close()


def bench_rung(rung: str, o: argparse.Namespace) -> bool:
    """Whether nothing failed, and everything that was compared was right."""
    path = built(o.libraries, rung, o.host)
    begun = time.monotonic()
    result = Result(
        rung=rung,
        machine=f"{platform.machine()} playing a GPU" if o.host else name_of_device(),
        software="",
        date=datetime.date.today().isoformat(),
        rates={},
        judged=not o.host,
    )
    result.note = "" if o.host else what_is_lacking(rung)
    if result.note:
        keep(result, o.out)
        print("\n".join(lines_of(result)), flush=True)
        return True
    with_torch = find_spec("torch") is not None
    earlier = earlier_rows(o.out, rung, result.machine) if o.resume else []
    budget = Budget(o.seconds, compiling=not o.no_compile)
    if with_torch:
        bench_with_torch(rung, path, result, o.out, budget, earlier, o)
    elif o.host and rung != "m1":
        raise SystemExit("run.py: --host compares with PyTorch, which is not installed")
    else:
        bench_alone(rung, path, o.libraries, result, o.out, budget)
    result.seconds = time.monotonic() - begun
    keep(result, o.out)
    print("\n".join(lines_of(result)), flush=True)
    return not any(row.wrong or row.failed for row in result.rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rungs", nargs="*", metavar="RUNG", help=f"of {', '.join(LADDER)}; all of them by default"
    )
    parser.add_argument("--libraries", type=Path, required=True, help="the folder of libbench_gpu_*.so")
    parser.add_argument(
        "--out", type=Path, default=Path("build/gpu/results"), help="a folder (build/gpu/results)"
    )
    parser.add_argument("--plans", action="store_true", help="only print what the plans say; needs no GPU")
    parser.add_argument(
        "--account", action="store_true", help="only print the steps' accounts, timed kernel by kernel"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each rung (420)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument(
        "--start",
        choices=STARTS,
        default=STARTS[0],
        help="when kernels of our steps begin (fastest: by the clock)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep what --out has measured; measure the rest"
    )
    parser.add_argument(
        "--residual-in-bf16", action="store_true", help="peers more of GPTs in bf16, with ours' residual stream"
    )
    parser.add_argument("--host", action="store_true", help="on this processor, which plays a GPU")
    o = parser.parse_args()
    Library.starts = o.start
    unknown = [rung for rung in o.rungs if rung not in LADDER]
    if unknown:
        parser.error(f"no rung {', '.join(unknown)}; rungs: {', '.join(LADDER)}")
    if o.plans:
        for rung in o.rungs or [r for r in LADDER if path_of(o.libraries, r, o.host).exists()]:
            print_plans(rung, built(o.libraries, rung, o.host))
        return 0
    if o.account:
        for rung in o.rungs:
            print_account(rung, built(o.libraries, rung, o.host), o.host)
        return 0
    if len(o.rungs) == 1:
        return 0 if bench_rung(o.rungs[0], o) else 1

    failed = []
    options = ["--libraries", o.libraries, "--out", o.out, "--seconds", str(o.seconds)]
    options += ["--no-compile"] * o.no_compile + ["--host"] * o.host + ["--resume"] * o.resume
    options += ["--residual-in-bf16"] * o.residual_in_bf16 + ["--start", o.start]
    for rung in o.rungs or LADDER:
        if subprocess.run([sys.executable, __file__, *options, rung]).returncode != 0:
            failed.append(rung)
    print(f"page: {o.out / PAGE}")
    if failed:
        print(f"wrong, or failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
