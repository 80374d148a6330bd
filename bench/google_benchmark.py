"""What a program of bench/ on Google Benchmark says, for those that put a peer beside it."""

import json
import subprocess


def medians_of(program: str) -> dict[str, float]:
    """Nanoseconds, by benchmark: the medians of its repetitions."""
    command = [program, "--benchmark_format=json", "--benchmark_min_time=0.05"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    medians = [run for run in report["benchmarks"] if run.get("aggregate_name") == "median"]
    assert all(run["time_unit"] == "ns" for run in medians)
    return {run["run_name"].partition("/repeats:")[0]: run["real_time"] for run in medians}
