"""The ladder's Python, without PyTorch and by clocks of our own: verdicts, time budgets, turns; and run.py on a
library that plays a rung.

    ladder.py COMPILER     of C++
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

LADDER = Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(LADDER))

import budget  # noqa: E402
import ladder_calls  # noqa: E402
import measure  # noqa: E402
from budget import Budget  # noqa: E402
from measure import Contender, Timing  # noqa: E402
from results import (  # noqa: E402
    ASKED,
    BARS,
    BEGUN,
    COMPILED,
    EAGER,
    GRAPHED,
    IN_8_BITS,
    IN_BF16,
    OURS_IN_BF16,
    PEERS_IN_8_BITS,
    PLANNED,
    Bar,
    Exact,
    Peer,
    Result,
    Row,
    Same,
    lines_of,
    lowest_ratio,
    lowest_share,
    mean_ratio,
    of_fact,
    write_page,
)

COMPILER = "g++"


def peer(name: str, ratio: float) -> Peer:
    return Peer(name, 1.0, (ratio, ratio, ratio), ratio)


def row(*peers: Peer, **more) -> Row:
    return Row("case", **{"error": 0.0, "tolerance": 1e-4, "seconds": 1.0, "peers": list(peers), **more})


class Verdicts(unittest.TestCase):
    bar = Bar("bar", 1.2, lowest_ratio())

    def test_met_and_missed(self) -> None:
        self.assertEqual(self.bar.verdict([row(peer("a", 1.2))]), "bar: 1.2, met")
        self.assertEqual(self.bar.verdict([row(peer("a", 1.199))]), "bar: 1.2, MISSED")

    def test_the_best_peer_of_the_worst_case_counts(self) -> None:
        rows = [row(peer("a", 3.0), peer("b", 1.5)), row(peer("a", 1.1), peer("b", 9.0))]
        self.assertEqual(self.bar.verdict(rows), "bar: 1.1, MISSED")

    def test_nan_is_never_met(self) -> None:
        nan = math.nan
        for rows in (
            [row(peer("a", nan))],
            [row(peer("a", 2.0), peer("b", nan))],
            [row(peer("b", nan), peer("a", 2.0))],
            [row(peer("a", 2.0)), row(peer("a", nan))],
            [row(peer("a", nan)), row(peer("a", 2.0))],
        ):
            for value in (lowest_ratio(), lowest_ratio(["a", "b"]), mean_ratio):
                said = Bar("bar", 1.2, value, ()).verdict(rows)
                self.assertEqual(said, "bar: nan, MISSED")
        self.assertIn("MISSED", Bar("bar", 0.5, lowest_share, ()).verdict([row(limit=nan)]))
        self.assertIn("MISSED", Bar("bar", 0.5, of_fact("f"), ()).verdict([row(facts={"f": nan})]))

    def test_an_error_that_is_nan_is_wrong(self) -> None:
        wrong = row(peer("a", 9.0), error=math.nan)
        self.assertTrue(wrong.wrong)
        self.assertFalse(wrong.right)
        self.assertIn("not judged", self.bar.verdict([wrong]))

    def test_what_is_wrong_or_failed_is_not_met(self) -> None:
        fine = row(peer("a", 9.0))
        for bad in (row(peer("a", 9.0), error=1e-3), row(peer("a", 9.0), failed=True), row(error=None)):
            self.assertIn("not judged", self.bar.verdict([fine, bad]))
        self.assertIn("not judged", self.bar.verdict([]))

    def test_a_peer_that_is_missing_leaves_open_what_could_still_be_missed(self) -> None:
        absent = Peer("b", note="no time was left")
        self.assertEqual(
            self.bar.verdict([row(peer("a", 2.0), absent)]), "bar: 2, not judged: b was not measured"
        )
        self.assertEqual(self.bar.verdict([row(peer("a", 1.0), absent)]), "bar: 1, MISSED")
        self.assertEqual(self.bar.verdict([row(absent)]), "bar: not judged: b was not measured")

    def test_steps_in_a_graph_are_compared_with_every_mode(self) -> None:
        twice = BARS["t1"][1]
        every = [peer(name, 3.0) for name in GRAPHED]
        self.assertIn("3, met", twice.verdict([row(*every)]))
        for i, name in enumerate(GRAPHED):
            one_fast = [peer(n, 1.9 if n == name else 3.0) for n in GRAPHED]
            self.assertIn("1.9, MISSED", twice.verdict([row(*one_fast)]))
            self.assertIn(f"not judged: {name}", twice.verdict([row(*every[:i], *every[i + 1 :])]))
        self.assertEqual(sum("max-autotune" in name for name in GRAPHED), 1)

    def test_to_the_byte(self) -> None:
        exact = Exact("memory")
        self.assertEqual(exact.verdict([row(error=0, tolerance=0)]), "memory: met")
        self.assertEqual(exact.verdict([row(error=1, tolerance=0)]), "memory: MISSED")
        self.assertEqual(exact.verdict([row(error=math.nan, tolerance=0)]), "memory: MISSED")
        for rows in ([], [row(error=None)], [row(error=0, tolerance=0, failed=True)]):
            self.assertIn("not judged", exact.verdict(rows))

    def test_two_facts_are_one_number(self) -> None:
        same = Same("memory", ("a", "b"))
        fine = row(facts={"a": 7, "b": 7})
        self.assertEqual(same.verdict([fine]), "memory: met")
        self.assertEqual(same.verdict([fine, row(facts={"a": 7, "b": 8})]), "memory: MISSED")
        for facts in ({}, {"a": 7}, {"b": 7}):
            self.assertIn("not judged", same.verdict([fine, row(facts=facts)]))
        self.assertIn("not judged", same.verdict([]))

    def test_a_product_in_8_bits_is_judged_by_all_peers_those_that_add_fast_where_it_does(self) -> None:
        best, good, share = BARS["g3"]
        slow = [peer(name, 1.3) for name in (EAGER, *COMPILED)]
        rows = [row(*slow, limit=0.8), row(*slow, peer(f"{EAGER}, fast accumulation", 1.1), limit=0.8)]
        self.assertTrue(best.verdict(rows).endswith("1.1, met"))
        self.assertTrue(good.verdict(rows).endswith("1.1, MISSED"))
        self.assertTrue(share.verdict(rows).endswith("0.8, met"))
        rows = [row(*slow), row(*slow, peer(f"{EAGER}, fast accumulation", 0.9))]
        self.assertTrue(best.verdict(rows).endswith("0.9, MISSED"))

    def test_a_step_in_8_bits_is_compared_with_ours_in_bf16_and_with_both_of_pytorch(self) -> None:
        ours, extreme, bf16, narrow, memory = BARS["t6"]
        peers = [peer(OURS_IN_BF16, 1.15), *(peer(name, 1.3) for name in IN_BF16)]
        peers += [peer(name, 0.9) for name in PEERS_IN_8_BITS]
        rows = [row(*peers, facts={PLANNED: 5, ASKED: 5})]
        self.assertTrue(ours.verdict(rows).endswith("1.15, met"))
        self.assertTrue(extreme.verdict(rows).endswith("1.15, MISSED"))
        self.assertTrue(bf16.verdict(rows).endswith("1.3, met"))
        self.assertTrue(narrow.verdict(rows).endswith("0.9, MISSED"))
        self.assertTrue(memory.verdict(rows).endswith("met"))
        absent = Peer(OURS_IN_BF16, note="FileNotFoundError: no libbench_gpu_t4.so")
        self.assertIn(f"not judged: {OURS_IN_BF16}", ours.verdict([row(absent, *peers[1:])]))
        self.assertEqual([n.removeprefix(IN_8_BITS) for n in PEERS_IN_8_BITS], list(IN_BF16))

    def test_a_page_says_what_became_of_each_bar(self) -> None:
        result = Result("k2", "device", "software", "date", {"copy": 4e12})
        result.rows = [row(peer("eager", 0.5), limit=0.95)]
        text = "\n".join(lines_of(result))
        self.assertIn("at least 0.90: 0.95, met", text)
        self.assertIn("in the worst case: 0.5, MISSED", text)
        result.rows = [row(error=math.nan), row(failed=True)]
        text = "\n".join(lines_of(result))
        self.assertIn(" WRONG", text)
        self.assertIn(" FAILED", text)
        self.assertNotIn("met", text)
        result.judged = False
        self.assertNotIn("not judged", "\n".join(lines_of(result)))

    def test_what_is_written_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for rung in ("t1", "k2"):
                one = Result(rung, "device", "software", "date", {"copy": 4e12}, ("before", "after"))
                one.rows = [row(peer("eager", 2.0), Peer("b", note=BEGUN), facts={"bytes": 1 << 40})]
                one.write(Path(folder))
                read = Result.read(Path(folder) / f"{rung}.json")
                read.clocks = tuple(read.clocks)
                self.assertEqual(dataclasses.asdict(read), dataclasses.asdict(one))
            write_page(Path(folder))
            page = (Path(folder) / "README.md").read_text()
            self.assertLess(page.index("## K2"), page.index("## T1"))
            self.assertIn("bytes 1,099,511,627,776", page)

    def test_a_row_is_complete_when_nothing_waits_for_time(self) -> None:
        self.assertTrue(row(peer("a", 1.0), Peer("b", note="RuntimeError: not on this device")).complete)
        spent = Budget(0, begun=0).why_not_compile(5)
        left_out = Budget(99, compiling=False).why_not_compile(5)
        for note in (BEGUN, spent, left_out):
            self.assertFalse(row(peer("a", 1.0), Peer("b", note=note)).complete)
        for bad in (row(error=None), row(error=1.0), row(failed=True), row(seconds=None)):
            self.assertFalse(bad.complete)


class Budgets(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 100.0
        clock = mock.patch.object(budget.time, "monotonic", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)

    def test_time_passes(self) -> None:
        whole = Budget(10)
        self.now += 4
        self.assertEqual((whole.used, whole.left, whole.spent), (4, 6, False))
        self.now += 6
        self.assertTrue(whole.spent)

    def test_what_one_case_leaves_is_the_others(self) -> None:
        whole = Budget(30)
        first = whole.share(3)
        self.assertEqual(first.left, 10)
        self.now += 2
        self.assertEqual(first.left, 8)
        self.assertEqual(whole.share(2).left, 14)
        self.now += 40
        self.assertEqual(whole.share(1).left, 0)
        self.assertTrue(whole.share(1).spent)

    def test_a_share_is_enough_for_a_case_where_it_can_be(self) -> None:
        whole = Budget(420)
        self.assertEqual(whole.share(40, 25).left, 420 / 16)
        self.assertEqual(whole.share(12, 25).left, 35)
        self.now += 390
        self.assertEqual(whole.share(20, 25).left, 30)
        self.now += 20
        self.assertEqual(whole.share(20, 25).left, 10)
        self.now += 20
        self.assertTrue(whole.share(20, 25).spent)

    def test_what_compiles_for_too_long_is_left_out_and_said(self) -> None:
        whole = Budget(10)
        self.assertEqual(whole.why_not_compile(9), "")
        self.assertEqual(whole.why_not_compile(10), "no time was left to compile it, some 10 s")
        self.assertEqual(whole.share(2).why_not_compile(6), "no time was left to compile it, some 6 s")
        self.assertEqual(Budget(10, compiling=False).share(1).why_not_compile(1), "torch.compile was left out")

    def test_what_no_run_has_more_time_for_begins_anyway(self) -> None:
        whole = Budget(10)
        self.assertEqual(whole.why_not_compile(99, anyway=True), "")
        self.now += 10
        self.assertEqual(whole.why_not_compile(99, anyway=True), "no time was left to compile it, some 99 s")
        left_out = Budget(10, compiling=False).why_not_compile(99, anyway=True)
        self.assertEqual(left_out, "torch.compile was left out")


class Turns(unittest.TestCase):
    """`now` is what a contender's calls take, by a machine that slows down as time goes on."""

    def setUp(self) -> None:
        self.now, self.drift = 0.0, 0.0
        self.order: list[str] = []

    def contender(self, name: str, seconds: float, uneven: float = 0.0) -> Contender:
        calls = 0

        def run(n: int) -> float:
            nonlocal calls
            calls += 1
            took = n * seconds * (1 + self.drift * self.now) * (1 + uneven * (calls // 4 % 2))
            self.order.append(name)
            self.now += took
            return took

        return Contender(name, run)

    def test_a_round_goes_there_and_back(self) -> None:
        contenders = [self.contender(name, 1e-3) for name in "abc"]
        with mock.patch.object(measure, "calls_for", lambda *_, **__: 1):
            measure.take_turns(contenders, rounds=2)
        self.assertEqual("".join(self.order), "abccba" * 2)

    def test_what_drifts_falls_on_all_alike(self) -> None:
        self.drift = 0.05  # a twentieth slower each second
        timings = measure.take_turns([self.contender("ours", 1e-3), self.contender("theirs", 2e-3)])
        r = measure.ratio(*timings)
        self.assertAlmostEqual(r.median, 2.0, delta=0.01)
        self.assertLess(r.spread, measure.SPREAD)
        self.assertEqual(len(timings[0].rounds), measure.ROUNDS)

    def test_calls_fill_the_window(self) -> None:
        for seconds in (1e-6, 1e-3, 0.3, 7.0):
            calls = measure.calls_for(self.contender("x", seconds), 0.5)
            self.assertEqual(calls, max(1, math.ceil(round(0.5 / seconds, 6))))

    def test_what_varies_is_measured_once_again_and_longer(self) -> None:
        asked: list[float] = []
        take_turns = measure.take_turns

        def noted(contenders, rounds, window):
            asked.append(window)
            return take_turns(contenders, rounds, window)

        with mock.patch.object(measure, "take_turns", noted):
            measure.compare([self.contender("a", 1e-3), self.contender("b", 2e-3)])
            self.assertEqual(asked, [measure.WINDOW])
            r = measure.ratio(*measure.compare([self.contender("a", 1e-3), self.contender("b", 2e-3, 0.2)]))
            self.assertEqual(asked[1:], [measure.WINDOW, 2 * measure.WINDOW])
            self.assertGreater(r.high, r.low)
            asked.clear()
            measure.compare([self.contender("a", 1e-3), self.contender("b", 2e-3, 0.2)], spread=0.3)
            self.assertEqual(asked, [measure.WINDOW])
            nan = [Timing("a", 1, (1, 1)), Timing("b", math.nan, (1, math.nan))]
            measure.settled([self.contender(name, 1e-3) for name in "ab"], nan)
        self.assertEqual(asked[1:], [2 * measure.WINDOW])

    def test_what_turns_take_is_told_before(self) -> None:
        for seconds, window in ((1e-4, 0.05), (0.1, 1.0), (0.09, 1.0)):
            begun = self.now
            measure.take_turns([self.contender(n, seconds) for n in "ab"], window=window)
            guess = measure.seconds_of_turns(2, window)
            self.assertAlmostEqual(guess, self.now - begun, delta=0.15 * guess)

    def test_a_ratio_is_of_rounds(self) -> None:
        r = measure.ratio(Timing("a", 2, (1, 2, 4)), Timing("b", 9, (3, 4, 4)))
        self.assertEqual((r.median, r.low, r.high), (2, 1, 3))
        self.assertTrue(math.isnan(measure.ratio(Timing("a", 1, (1,)), Timing("b", 1, (math.nan,))).median))
        with self.assertRaises(ValueError):
            measure.ratio(Timing("a", 1, (1,)), Timing("b", 1, (1, 1)))
        self.assertEqual(Timing("a", 20, (10, 30)).shared_by(10), Timing("a", 2, (1, 3)))
        self.assertAlmostEqual(measure.geometric_mean([1, 4, 2]), 2)

    def test_a_wall_clock_waits_for_what_was_called(self) -> None:
        said: list[str] = []
        with mock.patch.object(measure.time, "perf_counter", lambda: float(len(said))):
            took = measure.by_wall_clock(lambda: said.append("call"), lambda: said.append("finish"))(3)
        self.assertEqual(said, ["finish", "call", "call", "call", "finish"])
        self.assertEqual(took, 4)


PLAYED = r"""
#include <cstdlib>
extern "C" {
static double clock_ms = 0;
static double run_ms = 1;
static size_t number(const char* name) { return getenv(name) ? strtoull(getenv(name), 0, 10) : 0; }
const char* bench_cases(void) { return getenv("CASES"); }
const char* bench_error(void) { return "it plays a failure"; }
int bench_start(const char* when) {
  run_ms = when[0] == 'e' ? 0.25 : when[0] == 'i' ? 2 : 1;
  return 1;
}
void* bench_open(size_t which, void* stream) { return number("FAILS") ? 0 : malloc(1); }
void bench_close(void* handle) { free(handle); }
int bench_bind(void* handle, const void* const* inputs, void* const* outputs) { return 1; }
int bench_run(void* handle) { clock_ms += run_ms; return 1; }
int bench_synchronize(void* handle) { return 1; }
int bench_train(void* handle, double rate, const void* const* batches, size_t count, float* losses, size_t steps) {
  for (size_t i = 0; i < steps; ++i) losses[i] = 3;
  return 1;
}
const char* bench_account(void* handle, size_t which, const char* device, double rate, const void* const* batches,
                          size_t count) {
  return "an account";
}
const char* bench_order(void* handle) { return "by data"; }
int bench_read(void* handle, float* to) { return 1; }
int bench_write(void* handle, const float* from) { return 1; }
size_t bench_allocated(void) { return number("LEFT"); }
size_t bench_allocated_most(void) { return number("MOST"); }
void* bench_allocate(size_t bytes) { return malloc(1); }
int bench_free(void* memory) { free(memory); return 1; }
int bench_copy_from_host(void* handle, void* to, const void* from, size_t bytes) { return 1; }
int bench_copy(void* handle, void* to, const void* from, size_t bytes) { clock_ms += 0.5; return 1; }
void* bench_mark(void* handle) { return new double(clock_ms); }
float bench_milliseconds(void* from, void* to) {
  const double took = *(double*)to - *(double*)from;
  delete (double*)from;
  delete (double*)to;
  return (float)took;
}
}
"""


def described(name: str, trains: bool, memory: int) -> dict:
    ints = {"name": "", "dtype": "u16", "sizes": [2, 8]}
    weights = {"name": "tokens", "dtype": "f32", "sizes": [16, 4]}
    return {
        "name": name,
        "inputs": [ints, ints],
        "outputs": [] if trains else [ints],
        "parameters": [weights] if trains else [],
        "trains": trains,
        "memory": memory,
        "launches": 3,
        "bytes": 192,
        "matmul_flops": 1000,
        "facts": {"largest batch": 173},
    }


class Runs(unittest.TestCase):
    """run.py on a library that plays every rung, where nvidia-smi names a GPU and PyTorch is not found."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = Path(folder.name)
        (cls.work / "played.cpp").write_text(PLAYED)
        library = cls.work / "libbench_gpu_t4.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, cls.work / "played.cpp"], check=True)
        for name in ("gpu_k1", "gpu_g1", "gpu_g3", "gpu_t6", "host_t4"):
            (cls.work / f"libbench_{name}.so").symlink_to(library)
        (cls.work / "nvidia-smi").write_text(
            '#!/bin/sh\ncase "$*" in *compute_cap*) echo "${CAPABILITY-9.0}" ;;\n'
            '*) echo "NVIDIA H200, 570.00" ;; esac\n'
        )
        (cls.work / "nvidia-smi").chmod(0o755)

    def run_rung(self, *arguments: str, case: dict, **more: object) -> tuple[int, str]:
        path = f"{self.work}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "CASES": json.dumps([case])}
        environment.update({name: str(value) for name, value in more.items()})
        # -S: no packages, whatever this machine has.
        command = [sys.executable, "-S", LADDER / "run.py", "--libraries", self.work, "--out", self.work / "out"]
        run = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_memory_as_planned(self) -> None:
        for more in ([], ["--host"]):
            code, said = self.run_rung("m1", *more, case=described("gpt", True, 5000), MOST=5000)
            self.assertEqual(code, 0, said)
            self.assertIn("planned bytes 5,000; largest batch 173; first loss 3", said)
            self.assertIn("bytes asked for at most 5,000", said)
            self.assertEqual("to the byte: met" in said, not more)

    def test_a_byte_more_or_less_fails(self) -> None:
        for most in (4999, 5001):
            for more in ([], ["--host"]):
                code, said = self.run_rung("m1", *more, case=described("gpt", True, 5000), MOST=most)
                self.assertEqual(code, 1, said)
                self.assertIn("1.0e+00 WRONG", said)
                self.assertEqual("to the byte: MISSED" in said, not more)

    def test_memory_that_is_never_given_back_fails(self) -> None:
        code, said = self.run_rung("m1", case=described("gpt", True, 5000), MOST=5000, LEFT=7)
        self.assertEqual(code, 1)
        self.assertIn("bytes never given back 7", said)

    def test_a_library_that_fails(self) -> None:
        for rung, case in (("m1", described("gpt", True, 5000)), ("t4", described("gpt", True, 5000))):
            code, said = self.run_rung(rung, case=case, FAILS=1)
            self.assertNotEqual(code, 0)
            self.assertIn("it plays a failure", said)

    def test_alone_by_the_library_s_own_clock(self) -> None:
        code, said = self.run_rung("k1", case=described("a case", False, 256))
        self.assertEqual(code, 0, said)
        self.assertIn("| a case | not checked | 1 ms |", said)
        self.assertIn("copy 4.295 TB/s", said)  # 1 GiB there and back in half a millisecond
        self.assertIn("share of copy bandwidth 0.96 (extreme): not judged", said)

    def test_kernels_of_steps_begin_as_asked(self) -> None:
        for more, took in (([], "1 ms"), (["--start=in_turn"], "2 ms"), (["--start=early"], "250 us")):
            code, said = self.run_rung("k1", *more, case=described("a case", False, 256))
            self.assertEqual(code, 0, said)
            self.assertIn(f"| a case | not checked | {took} |", said)
        code, said = self.run_rung("k1", "--start=late", case=described("a case", False, 256))
        self.assertEqual(code, 2)
        self.assertIn("invalid choice: 'late'", said)

    def test_8_bits_alone_have_no_rate_to_be_judged_by(self) -> None:
        for rung, trains in (("g3", False), ("t6", True)):
            code, said = self.run_rung(rung, case=described("a case f8", trains, 256))
            self.assertEqual(code, 0, said)
            self.assertRegex(said, r"\| a case f8 \| not checked \| [^|]+ \| - \| - \|")

    def test_8_bits_are_not_asked_of_a_device_that_has_none(self) -> None:
        for rung in ("g3", "t6"):
            case = described("a case f8", False, 256)
            code, said = self.run_rung(rung, case=case, FAILS=1, CAPABILITY="8.6")
            self.assertEqual(code, 0, said)
            self.assertIn("Not run: the device has compute capability 8.6", said)
            self.assertIn("products of 8-bit floats begin with 8.9", said)
            self.assertNotRegex(said, ": (met|MISSED)")
        case = described("a case", False, 256)
        self.assertIn("| a case | not checked | 1 ms |", self.run_rung("k1", case=case, CAPABILITY="8.6")[1])
        for known in ("8.9", "10.0", "", 'Field "compute_cap" is not a valid field to query.'):
            code, said = self.run_rung("g3", case=case, CAPABILITY=known)
            self.assertEqual(code, 0, said)
            self.assertIn("| a case | not checked | 1 ms |", said)

    def test_plans(self) -> None:
        code, said = self.run_rung("--plans", "k1", case=described("a case", False, 256))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"k1 +a case +3 launches, 0\.0 MB moved, 2\.00 of what goes in and out")
        code, said = self.run_rung("--plans", case=described("gpt", True, 5_000_000))
        self.assertRegex(said, r"t4 +gpt +3 launches, 0\.0 MB moved, 5\.0 MB of memory")

    def test_an_account_needs_pytorch(self) -> None:
        code, said = self.run_rung("--account", "t4", case=described("gpt", True, 5000))
        self.assertEqual(code, 1)
        self.assertEqual(said, "run.py: --account draws batches with PyTorch, which is not installed\n")

    def test_what_is_not_there_is_said(self) -> None:
        code, said = self.run_rung("k9", case={})
        self.assertEqual(code, 2)
        self.assertIn("no rung k9", said)
        for more in ([], ["--plans"]):
            code, said = self.run_rung("k2", *more, case={})
            self.assertEqual(code, 1)
            self.assertIn("build the target bench_gpu_k2", said)
            self.assertNotIn("Traceback", said)


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, _: object) -> unittest.TestSuite:
    tests.addTests(loader.loadTestsFromModule(ladder_calls))
    return tests


class Counted(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        Counted.passed += 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop()
    runner = unittest.TextTestRunner(resultclass=Counted)
    result = unittest.main(testRunner=runner, exit=False).result
    failed = len(result.failures) + len(result.errors)
    if "NAPKIN_TOTALS" in os.environ:
        Path(os.environ["NAPKIN_TOTALS"]).write_text(f"{Counted.passed} {failed} {len(result.skipped)}\n")
    sys.exit(1 if failed else 0)
