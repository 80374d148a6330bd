"""What PyTorch computes for the cases of K, G, E and A: the peers, and in f64 the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from library import Case
from models import gpt2_shapes
from results import AUTOTUNED
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "u32": torch.uint32,
    "u16": torch.uint16,
    "b8": torch.bool,
}
TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-4, torch.bfloat16: 1.6e-2}  # of norms

MODES = ("default", AUTOTUNED)

Tensors = Sequence[Tensor]
Function = Callable[..., Tensors]


def as_tuple(x: Tensor | Tensors) -> tuple[Tensor, ...]:
    return (x,) if isinstance(x, Tensor) else tuple(x)


def standard_normal(case: Case, device: torch.device) -> list[Tensor]:
    return [torch.randn(a.sizes, device=device, dtype=DTYPES[a.dtype]) for a in case.inputs]


def same(inputs: Tensors) -> Tensors:
    return inputs


@dataclass(frozen=True)
class Other:
    """A peer with tensors of its own. `compiling`: about how many seconds its first call compiles."""

    make: Callable[[torch.device], Callable[[], None]]
    compiling: float = 0.0


@dataclass(frozen=True)
class Workload:
    """`compute` gives a case's outputs from what `prepare` makes of its inputs, once and not timed; it is a
    peer as it is, and compiled. In f64 it is the reference, unless there is a `reference`, of the case's
    inputs. With `adjoint`, the place of an adjoint among the prepared, the outputs are compute's and then
    the gradients of what requires one.
    """

    compute: Function
    inputs: Callable[[Case, torch.device], list[Tensor]] = standard_normal
    prepare: Callable[[Tensors], Tensors] = same
    adjoint: int | None = None
    reference: Function | None = None
    keeps_value: bool = True  # else the outputs are the gradients alone
    variants: dict[str, Function] = field(default_factory=dict)  # of compute, by name; each a peer likewise
    modes: tuple[str, ...] = MODES  # of torch.compile; none: it is no peer
    backends: tuple[SDPBackend, ...] = ()  # of attention, each a peer of its own
    others: dict[str, Other] = field(default_factory=dict)  # instead of compute
    bytes: Callable[[Case], int] = field(default=lambda case: case.bytes_in_and_out)  # that must be moved
    flops: Callable[[Case], int] = field(default=lambda case: case.matmul_flops)
    # what part of its FLOPs goes at which of the run's rates, where not all go at the first input's dtype's
    rates: dict[str, float] = field(default_factory=dict)

    def call(self, compute: Function, prepared: Tensors) -> tuple[Tensor, ...]:
        if self.adjoint is None:
            with torch.no_grad():
                return as_tuple(compute(*prepared))
        wanted = [x for x in prepared if x.requires_grad]
        operands = [x for i, x in enumerate(prepared) if i != self.adjoint]
        value = as_tuple(compute(*operands))
        dy = prepared[self.adjoint] if self.adjoint < len(prepared) else None
        gradients = torch.autograd.grad(value[0], wanted, dy)
        return (*[v.detach() for v in value], *gradients) if self.keeps_value else gradients

    def expected(self, inputs: Tensors) -> tuple[Tensor, ...]:
        if self.reference is not None:
            return as_tuple(self.reference(*inputs))
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        with sdpa_kernel(SDPBackend.MATH):
            return tuple(x.detach() for x in self.call(self.compute, self.prepare(wide)))


# ---- K1, K2, K3


def gelu(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return F.gelu(a * b + c, approximate="tanh")


def residual_and_norm(x: Tensor, residual: Tensor, gain: Tensor, bias: Tensor) -> Tensors:
    h = x + residual
    return h, F.layer_norm(h, gain.shape, gain, bias)


def weights_as_the_rest(inputs: Tensors) -> Tensors:
    return [x.to(inputs[0].dtype) for x in inputs]


def with_statistics(inputs: Tensors) -> Tensors:
    """The forward pass has kept them."""
    h, gain, bias, dy, d = weights_as_the_rest(inputs)
    _, mean, rstd = torch.native_layer_norm(h, gain.shape, gain, bias, 1e-5)
    return h, gain, bias, mean, rstd, dy, d


def norm_backward(h, gain, bias, mean, rstd, dy, d) -> Tensors:
    dx, dgain, dbias = torch.ops.aten.native_layer_norm_backward(
        dy, h, gain.shape, mean, rstd, gain, bias, [True, True, True]
    )
    return dx + d, dgain, dbias


# ---- K4


def logits_and_targets(case: Case, device: torch.device) -> list[Tensor]:
    logits, targets = case.inputs
    return [
        torch.randn(logits.sizes, device=device, dtype=torch.bfloat16),
        torch.randint(logits.sizes[1], targets.sizes, device=device, dtype=torch.int32),
    ]


def prepared_logits(inputs: Tensors) -> Tensors:
    return inputs[0].detach().requires_grad_(), inputs[1].long()


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.float(), targets)


def cross_entropy_by_rows(logits: Tensor, targets: Tensor) -> Tensors:
    """In f64, some rows at a time; the gradient is kept in f32, as it is large."""
    loss, gradients = 0.0, []
    for x, t in zip(logits.split(2048), targets.split(2048)):
        x = x.double().requires_grad_()
        part = F.cross_entropy(x, t.long(), reduction="sum") / len(logits)
        loss += part.item()
        gradients.append(torch.autograd.grad(part, x)[0].float())
    return torch.tensor(loss, dtype=torch.float64, device=logits.device), torch.cat(gradients)


# ---- K5

BETAS, EPSILON, RATE, DECAY, CLIP = (0.9, 0.95), 1e-8, 6e-4, 0.1, 1.0
STEP = 10


def group_lengths(case: Case) -> list[int]:
    """Elements of the parameters that decay, and of those that do not."""
    return [int(n) for n in case.inputs[-1].name.split()]


def adamw_inputs(case: Case, device: torch.device) -> list[Tensor]:
    values, _, _, check, *_ = case.inputs
    random = lambda scale: scale * torch.randn(values.elements, device=device)  # noqa: E731
    first = 1 - BETAS[0] ** STEP
    second = 1 - BETAS[1] ** STEP

    def numbers(decay: float) -> list[float]:
        betas = [BETAS[0], 1 - BETAS[0], BETAS[1], 1 - BETAS[1]]
        return [0, 1 - RATE * decay, *betas, second**-0.5, EPSILON, RATE / first]

    return [
        random(0.02),
        random(1e-3),
        torch.stack((random(1e-3), random(1e-3).square() + 1e-8)),
        torch.zeros(check.elements, device=device),  # parameters and states are finite
        torch.ones(1, device=device),
        torch.zeros((), device=device, dtype=torch.int32).view(torch.uint32),
        torch.tensor(CLIP, device=device, dtype=torch.float64),
        torch.tensor([numbers(DECAY), numbers(0.0)], device=device, dtype=torch.float32),
    ]


def adamw(lengths: list[int], *inputs: Tensor) -> Tensors:
    values, gradient, states, check, _loss, _noted, most, numbers = inputs
    gradient = gradient.double()
    squares = gradient.square().sum() + check.double().sum()
    clip = torch.clamp(most / (squares.sqrt() + 1e-6), max=1)
    of_groups = zip(
        *(x.split(lengths) for x in (values, gradient * clip, *states)), numbers.double(), strict=True
    )
    found: list[Tensors] = []
    for p, g, m, v, own in of_groups:
        _, keep, beta1, rest1, beta2, rest2, correction, epsilon, step = own
        m = m.double() * beta1 + g * rest1
        v = v.double() * beta2 + g.square() * rest2
        p = p.double() * keep - m / (v.sqrt() * correction + epsilon) * step
        found.append((p, m, v))
    after = [torch.cat(x) for x in zip(*found)]
    checks = sum((x * 0).reshape(len(check), -1).sum(1) for x in after)  # of each block
    return *after, checks, squares, clip, torch.ones((), device=clip.device, dtype=torch.bool)


def optimizer_of_gpt2(device: torch.device, compiled: bool = False) -> Callable[[], None]:
    """PyTorch's own, on tensors as GPT-2 124M's: its fused kernel, or its plain formula and the clipping compiled."""
    width = 768 if device.type == "cuda" else 48
    parameters = [torch.randn(s, device=device) * 0.02 for s in gpt2_shapes(12, width, 50304, 1024)]
    for p in parameters:
        p.grad = torch.randn_like(p) * 1e-3
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
            {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
        ],
        lr=RATE,
        betas=BETAS,
        eps=EPSILON,
        capturable=device.type == "cuda",  # else a CUDA graph cannot hold it; on the processor there is none
        **({"foreach": True} if compiled else {"fused": True}),
    )

    def step() -> None:
        torch.nn.utils.clip_grad_norm_(parameters, CLIP, foreach=True)
        optimizer.step()

    return torch.compile(step, dynamic=False) if compiled else step


# ---- K6, K7


def reduction(name: str) -> Function:
    def wide(x: Tensor) -> torch.dtype:
        return torch.float64 if x.dtype == torch.float64 else torch.float32

    if name == "sum of all":
        return lambda x: x.sum(dtype=wide(x))
    how, _, axis = name.split()
    if how == "sum":
        return lambda x: x.sum(int(axis), dtype=wide(x))
    return lambda x: x.amax(int(axis)).to(wide(x))


def permutation(name: str) -> Function:
    order = ["bthd".index(axis) for axis in name.split()[1:]]
    return lambda x: x.permute(order).contiguous()


# ---- G


def small_weights(place: int) -> Callable[[Case, torch.device], list[Tensor]]:
    """Products of about 1: beyond some 6, GELU is a straight line."""

    def make(case: Case, device: torch.device) -> list[Tensor]:
        inputs = standard_normal(case, device)
        inputs[place] *= inputs[place].shape[0] ** -0.5
        return inputs

    return make


def product(name: str) -> Workload:
    kind = name.split()[0]
    compute: Function = {
        "forward": lambda x, w: x @ w,
        "cube": lambda x, w: x @ w,
        "dgrad": lambda dy, w: dy @ w.T,
        "wgrad": lambda x, dy: x.T @ dy,
    }[kind]
    return Workload(compute, modes=())


def gelu_kept(x: Tensor, w: Tensor, bias: Tensor) -> Tensors:
    h = torch.addmm(bias, x, w)
    return h, F.gelu(h, approximate="tanh")


def gelu_backward(before: Tensor, bias: Tensor, w: Tensor, dy: Tensor) -> Tensors:
    d = torch.ops.aten.gelu_backward(dy @ w.T, before + bias, approximate="tanh")
    return d, d.sum(0)


def finished_product(name: str) -> Workload:
    kind = name.split()[0]
    compute: Function = {
        "bias": lambda x, w, bias: torch.addmm(bias, x, w),
        "gelu": gelu_kept,
        "dgelu": gelu_backward,
        "residual": lambda x, w, bias, residual: residual + torch.addmm(bias, x, w),
        "accumulate": lambda x, dy, total: total + x.T @ dy,
    }[kind]
    if kind == "accumulate":
        return Workload(compute)
    return Workload(compute, small_weights(2 if kind == "dgelu" else 1))


VALUES, ADJOINTS = torch.float8_e4m3fn, torch.float8_e5m2
FAST = "fast accumulation"


def scale_of(x: Tensor, kind: torch.dtype) -> Tensor:
    """The power of two that brings the largest magnitude just below the format's largest number."""
    return torch.exp2(torch.floor(torch.log2(torch.finfo(kind).max / x.float().abs().amax())))


def layer_inputs(case: Case, device: torch.device) -> list[Tensor]:
    """The weight, x and perhaps dy; the scales of x, the weight and dy; their reciprocals."""
    w, x, *dy = (torch.randn(a.sizes, device=device, dtype=DTYPES[a.dtype]) for a in case.inputs if a.sizes)
    w *= w.shape[0] ** -0.5
    dy = [y * 2**-10 for y in dy]
    scales = [scale_of(x, VALUES), scale_of(w, VALUES), *(scale_of(y, ADJOINTS) for y in dy)]
    return [w, x, *dy, *scales, *(1 / s for s in scales)]


def weight_by_outputs(inputs: Tensors) -> Tensors:
    """As nn.Linear keeps it."""
    return [inputs[0].T.contiguous(), *inputs[1:]]


def rounded(x: Tensor, scale: Tensor, kind: torch.dtype) -> Tensor:
    """To 8 bits: scaled, and cut to what the format holds."""
    most = torch.finfo(kind).max
    return (x.float() * scale).clamp(-most, most).to(kind)


def quantized(x: Tensor, scale: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """And its largest magnitudes by rows, as parts of the format's largest number."""
    return rounded(x, scale, kind), x.float().abs().amax(-1) / torch.finfo(kind).max


def turned(x: Tensor) -> Tensor:
    """The same matrix, by columns: cuBLASLt takes 8 bits only where the summed axis lies adjacent."""
    return x.t().contiguous().t()


def layer_in_8_bits(fast: bool) -> Function:
    """Forward, and with dy backward. The weight is (out, in), and so is its gradient. `fast`: forward products
    are added up in fewer bits than f32 has; gradients never are, as in torchao's default.
    """

    def multiplied(
        a: Tensor, b: Tensor, back: tuple[Tensor, Tensor], kind: torch.dtype, fast: bool = False
    ) -> Tensor:
        return torch._scaled_mm(a, b, scale_a=back[0], scale_b=back[1], out_dtype=kind, use_fast_accum=fast)

    def forward(w: Tensor, x: Tensor, of_x: Tensor, of_w: Tensor, x_back: Tensor, w_back: Tensor) -> Tensors:
        (x, x_most), (w, w_most) = quantized(x, of_x, VALUES), quantized(w, of_w, VALUES)
        return multiplied(x, w.t(), (x_back, w_back), torch.bfloat16, fast), x_most, w_most

    def step(w, x, dy, of_x, of_w, of_dy, x_back, w_back, dy_back) -> Tensors:
        (x, x_most), (w, w_most) = quantized(x, of_x, VALUES), quantized(w, of_w, VALUES)
        dy, dy_most = quantized(dy, of_dy, ADJOINTS)
        y = multiplied(x, w.t(), (x_back, w_back), torch.bfloat16, fast)
        dw = multiplied(dy.t().contiguous(), turned(x), (dy_back, x_back), torch.float32)
        dx = multiplied(dy, turned(w), (dy_back, w_back), torch.bfloat16)
        return y, dw, dx, x_most, w_most, dy_most

    return lambda *xs: (forward if len(xs) == 6 else step)(*xs)


def layer_reference(case: Case, w: Tensor, x: Tensor, *more: Tensor) -> Tensors:
    """Of the same 8 bits, products in f64."""
    dy, scales = (more[:1], more[1:4]) if len(more) == 7 else ((), more[:2])
    tensors = [x, w, *dy]
    kinds = [VALUES, VALUES, ADJOINTS]
    most = [
        t.float().abs().amax(tuple(range(len(a.sizes), t.dim()))) / torch.finfo(kind).max
        for t, kind, a in zip(tensors, kinds, case.outputs[-len(tensors) :])
    ]
    x, w, *dy = (rounded(t, s, kind).double() / s for t, s, kind in zip(tensors, scales, kinds))
    return [x @ w, *(x.T @ y for y in dy), *(y @ w.T for y in dy), *most]


def product_in_8_bits(case: Case) -> Workload:
    """Where ours adds up fast, the peers do and do not; of three products of a step the forward one does."""
    rate = "float8_e4m3fn"
    is_fast, is_step = FAST in case.name, case.name.startswith("step")
    forward = (1 / 3 if is_step else 1.0) if is_fast else 0.0
    return Workload(
        layer_in_8_bits(fast=False),
        layer_inputs,
        weight_by_outputs,
        reference=partial(layer_reference, case),
        variants={FAST: layer_in_8_bits(fast=True)} if is_fast else {},
        rates={name: part for name, part in ((rate, 1 - forward), (f"{rate}, {FAST}", forward)) if part > 0},
    )


# ---- A


def packed_attention(packed: Tensor) -> Tensor:  # (batch, seq, 3, heads, hidden)
    q, k, v = packed.transpose(1, 3).unbind(2)  # each (batch, heads, seq, hidden)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def attention_apart(q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # (batch, seq, heads, hidden)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def attention_flops(case: Case) -> int:
    """Of the half that a causal mask leaves: 2 products forward, 5 back."""
    batch, seq, *_, heads, hidden = case.inputs[0].sizes
    forward = 2 * batch * heads * seq * seq * hidden
    return forward if len(case.inputs) == 1 else forward * 7 // 2


def attention(name: str) -> Workload:
    backends = (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION)
    if "backward" in name:
        apart = name.startswith("apart")
        return Workload(
            attention_apart if apart else packed_attention,
            prepare=lambda xs: [*(x.detach().requires_grad_() for x in xs[:-1]), xs[-1]],
            adjoint=3 if apart else 1,
            modes=(),
            backends=backends,
            flops=attention_flops,
        )
    return Workload(packed_attention, modes=(), backends=backends, flops=attention_flops)


# ---- all


def workload(rung: str, case: Case) -> Workload:
    """What a case of a rung computes."""
    name = case.name
    if rung == "k1":
        return Workload(gelu)
    if rung == "k2":
        return Workload(residual_and_norm, prepare=weights_as_the_rest)
    if rung == "k3":
        return Workload(norm_backward, prepare=with_statistics)
    if rung == "k4":
        return Workload(
            cross_entropy, logits_and_targets, prepared_logits, adjoint=2, reference=cross_entropy_by_rows
        )
    if rung == "k5":
        # parameters, gradients and two states read, all but gradients written; gradients again for their norm
        return Workload(
            partial(adamw, group_lengths(case)),
            adamw_inputs,
            modes=(),
            others={
                "AdamW(fused), clip_grad_norm_": Other(optimizer_of_gpt2),
                "compile default": Other(partial(optimizer_of_gpt2, compiled=True), compiling=30.0),
            },
            bytes=lambda c: 32 * c.inputs[0].elements,
        )
    if rung == "k6":
        return Workload(reduction(name))
    if rung == "k7":
        return Workload(permutation(name))
    if rung == "g1":
        return product(name)
    if rung == "g2":
        return finished_product(name)
    if rung == "g3":
        return product_in_8_bits(case)
    if rung == "e1":
        # Contiguous, as ours: of a permutation torch.einsum gives a view, which costs nothing.
        return Workload(lambda *xs: torch.einsum(name, *xs).contiguous())
    if rung == "a1":
        return attention(name)
    raise ValueError(f"no workload for rung {rung}")


def difference(found: Tensor, expected: Tensor) -> float:
    """Of norms, relative; NaN, and what was not written, is infinitely far. By pieces, as f64 is large."""
    if found.shape != expected.shape:
        return math.inf
    if not found.is_floating_point():
        return 0.0 if torch.equal(found, expected.to(found.dtype)) else math.inf
    apart = norm = 0.0
    for x, y in zip(found.reshape(-1).split(1 << 26), expected.reshape(-1).split(1 << 26)):
        y = y.double()
        apart += (x.double() - y).square().sum().item()
        norm += y.square().sum().item()
    worst = math.sqrt(apart) / max(math.sqrt(norm), 1e-30)
    return worst if worst == worst else math.inf


def tolerance(case: Case) -> float:
    """Of its narrowest dtype."""
    types = {DTYPES[a.dtype] for a in case.inputs + case.outputs}
    return max(TOLERANCE[t] for t in types if t in TOLERANCE)
