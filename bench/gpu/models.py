"""The models of T in PyTorch, as one writes them there: linear layers, q, k and v in one, its attention.

Their parameters are filled from ours, whose names are paths and whose layout is [in..., out...].
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Values = dict[str, Tensor]


def gpt2_shapes(layers: int, width: int, vocabulary: int, positions: int) -> list[tuple[int, ...]]:
    """Of all parameters; GPT-2 124M has 148."""
    block = [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,)]
    block += [(width,), (width,), (4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    return [(vocabulary, width), (positions, width), *(layers * block), (width,), (width,)]


E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def quantized(x: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """In 8 bits, its largest magnitude the format's largest number; and the scale's reciprocal."""
    most = torch.finfo(kind).max
    wide = x.float()
    largest = wide.abs().amax().clamp(min=1e-12)
    return (wide * (most / largest)).clamp(-most, most).to(kind), largest / most


class ProductIn8Bits(torch.autograd.Function):
    """x w^T as torchao's float8 training has it by default: scales by tensors, of what they hold now; fast
    accumulation forward alone.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        (x8, x_back), (w8, w_back) = quantized(x, E4M3), quantized(weight, E4M3)
        ctx.save_for_backward(x8, x_back, w8, w_back)
        return torch._scaled_mm(
            x8, w8.t(), scale_a=x_back, scale_b=w_back, out_dtype=x.dtype, use_fast_accum=True
        )

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor, Tensor]:
        x8, x_back, w8, w_back = ctx.saved_tensors
        dy8, dy_back = quantized(dy, E5M2)
        # cuBLASLt takes 8 bits only where the summed axis lies adjacent in both
        w8, x8 = w8.t().contiguous().t(), x8.t().contiguous().t()
        dx = torch._scaled_mm(dy8, w8, scale_a=dy_back, scale_b=w_back, out_dtype=dy.dtype)
        dw = torch._scaled_mm(
            dy8.t().contiguous(), x8, scale_a=dy_back, scale_b=x_back, out_dtype=torch.float32
        )
        return dx, dw


class LinearIn8Bits(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.to(torch.bfloat16).flatten(0, -2)
        y = ProductIn8Bits.apply(rows, self.weight).view(*x.shape[:-1], self.out_features)
        return y + self.bias.to(y.dtype)


class Block(nn.Module):
    def __init__(self, width: int, heads: int, linear: type[nn.Linear]) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, seq, 3, self.heads, width // self.heads).unbind(2)
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.proj(y.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """nn::gpt: its head is the embedding. In f8 the layers' products are of 8-bit floats, the head's not. The
    embedding is of f32, and under autocast so is all that is added to it, which has twice the bytes of ours;
    `residual_in_bf16`: rounded behind the embedding, as ours is.
    """

    def __init__(self, values: Values, kind: str, residual_in_bf16: bool) -> None:
        super().__init__()
        self.residual_in_bf16 = residual_in_bf16
        vocabulary, width = values["tokens"].shape
        heads = values["blocks.0.attention.query"].shape[1]
        layers = 1 + max(int(name.split(".")[1]) for name in values if name.startswith("blocks."))
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(values["positions"].shape[0], width)
        linear = LinearIn8Bits if kind == "f8" else nn.Linear
        self.blocks = nn.ModuleList(Block(width, heads, linear) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.fill(values)

    def forward(self, text: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(text) + self.positions.weight[: text.shape[1]]
        if self.residual_in_bf16:
            x = x.to(torch.bfloat16)
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def fill(self, values: Values) -> None:
        def norm(layer: nn.LayerNorm, path: str) -> None:
            layer.weight.copy_(values[f"{path}.gain"])
            layer.bias.copy_(values[f"{path}.bias"])

        def linear(layer: nn.Linear, *paths: str) -> None:
            width = layer.in_features
            layer.weight.copy_(torch.cat([values[p].reshape(width, -1) for p in paths], 1).T)
            layer.bias.copy_(torch.cat([values[f"{p}_bias"].flatten() for p in paths]))

        self.tokens.weight.copy_(values["tokens"])
        self.positions.weight.copy_(values["positions"])
        norm(self.norm, "norm")
        for i, block in enumerate(self.blocks):
            path = f"blocks.{i}"
            norm(block.norm1, f"{path}.attention_norm")
            norm(block.norm2, f"{path}.mlp_norm")
            linear(block.qkv, *(f"{path}.attention.{name}" for name in ("query", "key", "value")))
            linear(block.proj, f"{path}.attention.output")
            linear(block.up, f"{path}.mlp.up")
            linear(block.down, f"{path}.mlp.down")


class Perceptron(nn.Module):
    """T2's."""

    def __init__(self, values: Values) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(*values[f"{path}.weight"].shape) for path in ("in", "between", "out")
        )
        with torch.no_grad():
            for layer, path in zip(self.layers, ("in", "between", "out")):
                layer.weight.copy_(values[f"{path}.weight"].T)
                layer.bias.copy_(values[f"{path}.bias"])

    def forward(self, images: Tensor, digits: Tensor) -> Tensor:
        first, between, last = self.layers
        return F.cross_entropy(last(F.relu(between(F.relu(first(images))))), digits)


def model_of(values: Values, kind: str, residual_in_bf16: bool = False) -> nn.Module:
    return Gpt(values, kind, residual_in_bf16) if "tokens" in values else Perceptron(values)


def decays(name: str) -> bool:
    """As ours: not what scales or shifts."""
    return not name.endswith("bias") and "norm" not in name
