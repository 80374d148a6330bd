"""More of ladder.py: functions in a CUDA graph and as called, on a machine that is played; and what needs PyTorch,
which is skipped where there is none.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import SimpleNamespace
from unittest import mock

import measure
import two_ways
from measure import Contender, Timing
from two_ways import Call, Kept, in_turn, seconds_of


class Played:
    """A machine whose calls take so long as `work` says, and that notes what it measures: "called" or "replayed", and
    "settled" where what varies would be measured again.
    """

    def __init__(self, host: bool = False) -> None:
        self.host = host
        self.refuses: list[Call] = []  # to capture
        self.now = 0.0
        self.done: list[str] = []
        self.graphs: list[Call] = []

    def work(self, seconds: float) -> Call:
        def call() -> None:
            self.now += seconds

        return call

    def by_events(self, call: Call) -> Callable[[int], float]:
        def run(calls: int) -> float:
            begun = self.now
            for _ in range(calls):
                call()
            return self.now - begun

        return run

    def captured(self, calls: Sequence[Call]) -> Call:
        if any(call in self.refuses for call in calls):
            raise RuntimeError("not to be captured")

        def replay() -> None:
            for call in calls:
                call()

        self.graphs.append(replay)
        return replay

    def take_turns(self, contenders: Sequence[Contender]) -> list[Timing]:
        self.done.append("replayed" if self.graphs else "called")
        return measure.take_turns(contenders, rounds=3)

    def settled(self, contenders: Sequence[Contender], timings: list[Timing]) -> list[Timing]:
        self.done.append("settled")
        return timings


class TwoWays(unittest.TestCase):
    def of(self, machine: Played, seconds: float, check: Callable[[Call], None] = lambda _: None, calls=None):
        ours = [machine.work(seconds)] * 3
        return seconds_of([("ours", ours), ("theirs", calls or [machine.work(2 * seconds)] * 3)], machine, check)

    def test_short_work_is_timed_both_ways_and_what_is_called_only_once(self) -> None:
        machine = Played()
        graphs, called, failures = self.of(machine, 1e-4)
        self.assertEqual(machine.done, ["called", "replayed", "settled"])
        self.assertAlmostEqual(graphs["theirs"].seconds / graphs["ours"].seconds, 2)
        self.assertEqual((set(called), failures), ({"ours", "theirs"}, {}))

    def test_long_work_and_the_host_s_is_only_called_and_again_where_it_varies(self) -> None:
        for machine, seconds in ((Played(), 1e-2), (Played(host=True), 1e-4)):
            graphs, called, _ = self.of(machine, seconds)
            self.assertEqual(machine.done, ["called", "settled"])
            self.assertEqual((graphs, machine.graphs), (called, []))

    def test_beside_what_cannot_be_captured_calls_are_measured_as_well_as_replays(self) -> None:
        machine = Played()
        theirs = machine.work(1e-4)
        machine.refuses.append(theirs)
        graphs, called, failures = self.of(machine, 1e-4, calls=[theirs])
        self.assertEqual(machine.done, ["called", "settled", "replayed", "settled"])
        self.assertEqual((set(graphs), set(called)), ({"ours"}, {"ours", "theirs"}))
        self.assertIn("not in a CUDA graph (RuntimeError: not to be captured)", failures["theirs"])

    def test_a_replay_of_ours_is_checked_before_it_is_timed(self) -> None:
        machine = Played()
        checked: list[Call] = []
        self.of(machine, 1e-4, checked.append)
        self.assertEqual(checked, machine.graphs[:1])

        def wrong(_: Call) -> None:
            raise RuntimeError("away from itself")

        machine = Played()
        with self.assertRaisesRegex(RuntimeError, "away from itself"):
            self.of(machine, 1e-4, wrong)
        self.assertEqual(machine.done, ["called"])

    def test_results_are_kept_until_the_next_call_on_their_set(self) -> None:
        held: list[int] = []

        class Memory:
            def __init__(self) -> None:
                held.append(min(set(range(9)) - set(held)))
                self.at = held[-1]

            def __del__(self) -> None:
                held.remove(self.at)

        sets = [Kept() for _ in range(3)]
        each = in_turn([lambda s=s: s.call(Memory) for s in sets])
        for _ in range(3):
            each()
        first = [s.result.at for s in sets]
        self.assertEqual(first, [0, 1, 2])
        for _ in range(3):
            each()
            self.assertLessEqual(len(held), 3)
        self.assertEqual([s.result.at for s in sets], first)
        for s in sets:
            s.clear()
        self.assertEqual(held, [])


@unittest.skipUnless(find_spec("torch"), "PyTorch is not installed")
class WithPyTorch(unittest.TestCase):
    def setUp(self) -> None:
        import torch

        torch.manual_seed(1)
        self.torch = torch
        self.machine = SimpleNamespace(
            host=True, device=torch.device("cpu"), finish=lambda: None, release=lambda: None
        )

    def test_steps_that_leave_biases_as_they_are_have_other_losses(self) -> None:
        import training

        torch = self.torch
        sizes = {"in": (48, 32), "between": (32, 32), "out": (32, 10)}
        values = {}
        for name, (of, to) in sizes.items():
            values[f"{name}.weight"] = (torch.rand(of, to) * 2 - 1) * of**-0.5
            values[f"{name}.bias"] = torch.zeros(to)
        batches = [[torch.randn(32, 48), torch.randint(10, (32,))] for _ in range(training.BATCHES)]

        def losses() -> list[float]:
            return training.torch_losses(values, "f32", self.machine, batches)

        right = losses()
        self.assertLessEqual(training.losses_apart(losses(), right), training.TOLERANCE["f32"])
        optimizer_of = training.optimizer_of

        def without_biases(model, machine, capturable):
            for name, p in model.named_parameters():
                p.requires_grad_(not name.endswith("bias"))
            return optimizer_of(model, machine, capturable)

        with mock.patch.object(training, "optimizer_of", without_biases):
            self.assertGreater(training.losses_apart(losses(), right), training.TOLERANCE["f32"])

    def test_a_residual_in_bf16_is_asked_for(self) -> None:
        import models

        torch = self.torch
        shapes = {"tokens": (16, 8), "positions": (4, 8), "norm.gain": (8,), "norm.bias": (8,)}
        block = {"attention_norm.gain": (8,), "attention_norm.bias": (8,), "mlp_norm.gain": (8,)}
        block |= {"mlp_norm.bias": (8,), "attention.output": (2, 4, 8), "attention.output_bias": (8,)}
        for name in ("query", "key", "value"):
            block |= {f"attention.{name}": (8, 2, 4), f"attention.{name}_bias": (2, 4)}
        block |= {"mlp.up": (8, 32), "mlp.up_bias": (32,), "mlp.down": (32, 8), "mlp.down_bias": (8,)}
        shapes |= {f"blocks.0.{name}": shape for name, shape in block.items()}
        values = {name: torch.randn(shape) * 0.1 for name, shape in shapes.items()}
        text = torch.randint(16, (2, 4))
        for asked, kind in ((False, torch.float32), (True, torch.bfloat16)):
            model = models.model_of(values, "bf16", asked)
            seen = []
            model.blocks[0].register_forward_hook(lambda _, __, y: seen.append(y.dtype))
            with torch.autocast("cpu", torch.bfloat16):
                self.assertTrue(model(text, text).isfinite())
            self.assertEqual(seen, [kind])

    def test_a_replay_that_writes_nothing_or_something_else_is_wrong(self) -> None:
        import functions

        outputs = [self.torch.randn(64)]
        good = outputs[0].clone()
        for replay, right in (
            (lambda: outputs[0].copy_(good), True),
            (lambda: outputs[0].copy_(good * 1.01), False),
            (lambda: None, False),
        ):
            outputs[0].copy_(good)
            check = functions.check_of_replays(SimpleNamespace(outputs=outputs), 1e-4, self.machine)
            if right:
                check(replay)
            else:
                with self.assertRaisesRegex(RuntimeError, "away from itself"):
                    check(replay)
