"""Writes data/*.safetensors: what PyTorch computes for two small models, for AdamW and for single functions.

Run by hand, once; the C++ tests only read the files. It is no library of layers: each model is spelled out
in primitives, weights stored [in..., out...], so that a tensor's name is its path in napkin's model.
README.md beside it says what the files hold.
"""
import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

BATCH, SEQ, VOCAB, EMBED, LAYERS, STEPS = 4, 16, 64, 24, 2, 20
NORM_EPS = 1e-5
BETAS, ADAM_EPS, WEIGHT_DECAY, MAX_NORM = (0.9, 0.95), 1e-8, 0.1, 1.0
PEAK, WARMUP = 3e-3, 5

GPT = {"heads": 3, "hidden": 8, "ffn": 96}
LLAMA = {"kv_heads": 2, "group": 2, "hidden": 6, "ffn": 64, "base": 10000.0}


# Functions that PyTorch has no one primitive for.


def rms_norm(x, gain):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * gain


def rotary(x):
    """Rotates x [batch, seq, ..., hidden] by its position; halves are paired as in Hugging Face's Llama."""
    seq, hidden = x.shape[1], x.shape[-1]
    frequency = LLAMA["base"] ** (-torch.arange(0, hidden, 2, dtype=x.dtype) / hidden)
    angle = torch.outer(torch.arange(seq, dtype=x.dtype), frequency)  # [seq, hidden/2]
    angle = torch.cat((angle, angle), -1).view(1, seq, *[1] * (x.dim() - 3), hidden)
    first, second = x.chunk(2, -1)
    return x * angle.cos() + torch.cat((-second, first), -1) * angle.sin()


def causal_softmax(scores):
    """Softmax over the last axis of scores [..., query, key], where key <= query."""
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(-1)


def causal_attention(query, key, value):
    """All [batch, seq, heads, hidden]."""
    scores = torch.einsum("bqnh,bknh->bnqk", query, key) / math.sqrt(query.shape[-1])
    return torch.einsum("bnqk,bknh->bqnh", causal_softmax(scores), value)


def swiglu(x, gate, up, down):
    return (F.silu(x @ gate) * (x @ up)) @ down


# The models: the shape of each parameter, and the logits.


def gpt_shapes():
    heads, hidden, ffn = GPT["heads"], GPT["hidden"], GPT["ffn"]
    shapes = {"tokens": (VOCAB, EMBED), "positions": (SEQ, EMBED)}
    for i in range(LAYERS):
        block = f"blocks.{i}"
        for norm in ("attention_norm", "mlp_norm"):
            shapes |= {f"{block}.{norm}.gain": (EMBED,), f"{block}.{norm}.bias": (EMBED,)}
        for name in ("query", "key", "value"):
            shapes[f"{block}.attention.{name}"] = (EMBED, heads, hidden)
            shapes[f"{block}.attention.{name}_bias"] = (heads, hidden)
        shapes[f"{block}.attention.output"] = (heads, hidden, EMBED)
        shapes[f"{block}.attention.output_bias"] = (EMBED,)
        shapes |= {f"{block}.mlp.up": (EMBED, ffn), f"{block}.mlp.up_bias": (ffn,)}
        shapes |= {f"{block}.mlp.down": (ffn, EMBED), f"{block}.mlp.down_bias": (EMBED,)}
    return shapes | {"norm.gain": (EMBED,), "norm.bias": (EMBED,)}


def gpt_logits(p, tokens):
    def norm(path, x):
        return F.layer_norm(x, (EMBED,), p[f"{path}.gain"], p[f"{path}.bias"], NORM_EPS)

    x = p["tokens"][tokens] + p["positions"]
    for i in range(LAYERS):
        attention, mlp = f"blocks.{i}.attention", f"blocks.{i}.mlp"
        h = norm(f"{attention}_norm", x)
        query, key, value = (
            torch.einsum("bse,enh->bsnh", h, p[f"{attention}.{name}"]) + p[f"{attention}.{name}_bias"]
            for name in ("query", "key", "value")
        )
        mixed = causal_attention(query, key, value)
        x = x + torch.einsum("bsnh,nhe->bse", mixed, p[f"{attention}.output"]) + p[f"{attention}.output_bias"]
        h = F.gelu(norm(f"{mlp}_norm", x) @ p[f"{mlp}.up"] + p[f"{mlp}.up_bias"], approximate="tanh")
        x = x + h @ p[f"{mlp}.down"] + p[f"{mlp}.down_bias"]
    return norm("norm", x) @ p["tokens"].T


def llama_shapes():
    kv_heads, group, hidden, ffn = LLAMA["kv_heads"], LLAMA["group"], LLAMA["hidden"], LLAMA["ffn"]
    shapes = {"tokens": (VOCAB, EMBED)}
    for i in range(LAYERS):
        block = f"blocks.{i}"
        shapes |= {f"{block}.attention_norm.gain": (EMBED,), f"{block}.mlp_norm.gain": (EMBED,)}
        shapes[f"{block}.attention.query"] = (EMBED, kv_heads, group, hidden)
        shapes[f"{block}.attention.key"] = (EMBED, kv_heads, hidden)
        shapes[f"{block}.attention.value"] = (EMBED, kv_heads, hidden)
        shapes[f"{block}.attention.output"] = (kv_heads, group, hidden, EMBED)
        shapes |= {f"{block}.mlp.gate": (EMBED, ffn), f"{block}.mlp.up": (EMBED, ffn)}
        shapes[f"{block}.mlp.down"] = (ffn, EMBED)
    return shapes | {"norm.gain": (EMBED,), "head": (EMBED, VOCAB)}


def llama_logits(p, tokens):
    x = p["tokens"][tokens]
    for i in range(LAYERS):
        attention, mlp = f"blocks.{i}.attention", f"blocks.{i}.mlp"
        h = rms_norm(x, p[f"{attention}_norm.gain"])
        query = rotary(torch.einsum("bse,engh->bsngh", h, p[f"{attention}.query"]))
        key = rotary(torch.einsum("bse,enh->bsnh", h, p[f"{attention}.key"]))
        value = torch.einsum("bse,enh->bsnh", h, p[f"{attention}.value"])
        scores = torch.einsum("bqngh,bknh->bngqk", query, key) / math.sqrt(LLAMA["hidden"])
        mixed = torch.einsum("bngqk,bknh->bqngh", causal_softmax(scores), value)
        x = x + torch.einsum("bsngh,nghe->bse", mixed, p[f"{attention}.output"])
        h = rms_norm(x, p[f"{mlp}_norm.gain"])
        x = x + swiglu(h, p[f"{mlp}.gate"], p[f"{mlp}.up"], p[f"{mlp}.down"])
    return rms_norm(x, p["norm.gain"]) @ p["head"]


# Training.


def is_decayed(path):
    return not path.endswith(("gain", "bias"))


def initialise(shapes, scales):
    """Nothing is zero, so that a gradient that should not vanish does not."""
    parameters = {}
    for path, shape in shapes.items():
        scale = scales.get(path, 0.08 if is_decayed(path) else 0.05)
        parameters[path] = scale * torch.randn(shape) + (1.0 if path.endswith("gain") else 0.0)
    return parameters


def batches():
    """Text of a Markov chain: each token has four successors, of probability 0.7, 0.15, 0.1 and 0.05."""
    successors = torch.stack([torch.randperm(VOCAB)[:4] for _ in range(VOCAB)])
    text = torch.empty(STEPS, BATCH, SEQ + 1, dtype=torch.int64)
    text[..., 0] = torch.randint(VOCAB, (STEPS, BATCH))
    chosen = torch.multinomial(torch.tensor([0.7, 0.15, 0.1, 0.05]), STEPS * BATCH * SEQ, replacement=True)
    chosen = chosen.view(STEPS, BATCH, SEQ)
    for s in range(SEQ):
        text[..., s + 1] = successors[text[..., s], chosen[..., s]]
    return text[..., :-1].contiguous(), text[..., 1:].contiguous()


def learning_rate(step):
    """Linear over WARMUP steps to PEAK, then a cosine that would reach a tenth of it at STEPS."""
    if step < WARMUP:
        return PEAK * (step + 1) / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return 0.1 * PEAK + 0.5 * (PEAK - 0.1 * PEAK) * (1.0 + math.cos(math.pi * progress))


def adamw(parameters):
    """torch.optim.AdamW over a dictionary of leaves, those that is_decayed names apart."""
    groups = [
        {"params": [p for path, p in parameters.items() if is_decayed(path)], "weight_decay": WEIGHT_DECAY},
        {"params": [p for path, p in parameters.items() if not is_decayed(path)], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=ADAM_EPS, foreach=False, fused=False)


def set_learning_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate


def leaves(tensors, dtype):
    return {path: t.to(dtype).clone().requires_grad_() for path, t in tensors.items()}


def train(logits_of, initial, tokens, targets, dtype):
    """The run in dtype: gradient at step 0 before clipping, final parameters, loss and norm of each step."""
    parameters = leaves(initial, dtype)
    optimizer = adamw(parameters)
    losses, norms, record = [], [], {}
    for step in range(STEPS):
        set_learning_rate(optimizer, learning_rate(step))
        optimizer.zero_grad()
        loss = F.cross_entropy(logits_of(parameters, tokens[step]).flatten(0, 1), targets[step].flatten())
        loss.backward()
        if step == 0:
            record |= {f"gradient.{path}": p.grad.clone() for path, p in parameters.items()}
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM, foreach=False).item())
        losses.append(loss.item())
        optimizer.step()
    record |= {f"final.{path}": p.detach().clone() for path, p in parameters.items()}
    record["losses"] = torch.tensor(losses, dtype=torch.float64)
    record["gradient_norms"] = torch.tensor(norms, dtype=torch.float64)
    return record


def model_file(seed, shapes, scales, logits_of):
    torch.manual_seed(seed)
    initial = initialise(shapes, scales)
    tokens, targets = batches()
    record = {f"initial.{path}": t for path, t in initial.items()}
    record |= {"batch.tokens": tokens.to(torch.int32), "batch.targets": targets.to(torch.int32)}
    record["learning_rates"] = torch.tensor([learning_rate(s) for s in range(STEPS)], dtype=torch.float64)
    record |= train(logits_of, initial, tokens, targets, torch.float32)
    exact = train(logits_of, initial, tokens, targets, torch.float64)
    return record | {f"f64.{name}": t for name, t in exact.items()}


# The optimizer alone, and functions alone.


def optimizer_file(seed, steps=50, kept=(1, 10, 50)):
    """AdamW on recorded gradients whose scale runs from 1e-4 to 1; one row of `table` never has any."""
    torch.manual_seed(seed)
    shapes = {"matrix": (12, 15), "table": (10, 8), "bias": (40,)}
    initial = {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}
    scale = 10.0 ** (-4.0 * torch.rand(steps, dtype=torch.float64))
    gradients = {
        name: scale.view(-1, *[1] * len(shape)) * torch.randn(steps, *shape, dtype=torch.float64)
        for name, shape in shapes.items()
    }
    gradients["table"][:, 3] = 0.0
    rates = 1e-2 * (0.1 + torch.rand(steps, dtype=torch.float64))
    record = {f"initial.{name}": t for name, t in initial.items()}
    record |= {f"gradient.{name}": t for name, t in gradients.items()} | {"learning_rates": rates}
    for variant in ("plain", "clipped"):
        parameters = leaves(initial, torch.float64)
        optimizer = adamw(parameters)
        norms = []
        for step in range(steps):
            set_learning_rate(optimizer, rates[step].item())
            for name, p in parameters.items():
                p.grad = gradients[name][step].clone()
            if variant == "clipped":
                norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM, foreach=False))
            optimizer.step()
            if step + 1 in kept:
                after = f"{variant}.after_{step + 1}"
                record |= {f"{after}.{name}": p.detach().clone() for name, p in parameters.items()}
        if norms:
            record["gradient_norms"] = torch.stack(norms)
    return record


def functions_file(seed):
    """Inputs and weights are values of f32 too, so that a test in f32 starts from the same numbers."""
    torch.manual_seed(seed)

    def random(*shape, scale=1.0, offset=0.0):
        return (offset + scale * torch.randn(shape)).double()

    far = random(3, 4, 7, scale=2.0)
    far[1] = (far[1] + 1000.0).float().double()  # overflows unless the maximum is subtracted
    tails = random(4, 9, scale=2.0)
    tails[0, :4] = torch.tensor([-12.0, -5.0, 0.0, 9.0])
    heads = [random(2, 7, 3, 8) for _ in range(3)]
    classes = torch.randint(11, (2, 3), dtype=torch.int32)

    def entropies(x, t):
        return F.cross_entropy(x.flatten(0, 1), t.flatten().long(), reduction="none").view(t.shape)

    cases = {
        "softmax": (lambda x: x.softmax(-1), [far]),
        "log_softmax": (lambda x: x.log_softmax(-1), [far]),
        "layer_norm": (
            lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, NORM_EPS),
            [random(5, 8, offset=0.5), random(8, scale=0.3, offset=1.0), random(8, scale=0.3)],
        ),
        "rms_norm": (rms_norm, [random(5, 8, offset=0.5), random(8, scale=0.3, offset=1.0)]),
        "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), [tails]),
        "gelu_exact": (F.gelu, [tails]),
        "silu": (F.silu, [tails]),
        "swiglu": (
            swiglu,
            [random(5, 6), random(6, 10, scale=0.5), random(6, 10, scale=0.5), random(10, 6, scale=0.5)],
        ),
        "rotary": (rotary, [random(2, 7, 3, 8)]),
        "causal_attention": (causal_attention, heads),
        "cross_entropy": (entropies, [random(2, 3, 11, scale=2.0), classes]),
        "cross_entropy_mean": (lambda x, t: entropies(x, t).mean(), [random(2, 3, 11, scale=2.0), classes]),
    }
    return record_functions(cases, random)


def layers_file(seed):
    """Convolution, pooling and what functions_file lacks of losses and attention; in f64 from values of f32."""
    torch.manual_seed(seed)

    def random(*shape, scale=1.0):
        return (scale * torch.randn(shape)).double()

    classes = torch.randint(11, (2, 3), dtype=torch.int32)
    some = classes.clone()
    some[0, 1] = some[1, 2] = 255  # ignored

    def entropy(x, t, **options):
        return F.cross_entropy(x.flatten(0, 1), t.flatten().long(), **options)

    def conv1d(x, weight, padding, dilation=1):  # [batch, seq, in], [taps, in, out] -> [batch, seq, out]
        padded = F.pad(x.transpose(1, 2), padding)
        return F.conv1d(padded, weight.permute(2, 1, 0), dilation=dilation).transpose(1, 2)

    def conv2d(x, weight):  # [batch, height, width, in], [taps, taps, in, out]
        y = F.conv2d(x.permute(0, 3, 1, 2), weight.permute(3, 2, 0, 1), stride=(2, 1), padding=(1, 0))
        return y.permute(0, 2, 3, 1)

    def pool(x, how, *sizes):
        return how(x.permute(0, 3, 1, 2), *sizes).permute(0, 2, 3, 1)

    def attention(query, key, value, causal):  # [batch, seq, kv_heads, group, hidden]; without the group
        q = query.permute(0, 2, 3, 1, 4).flatten(1, 2)
        k, v = (t.permute(0, 2, 1, 3).repeat_interleave(query.shape[3], dim=1) for t in (key, value))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return mixed.unflatten(1, query.shape[2:4]).permute(0, 3, 1, 2, 4)

    heads = [random(2, 7, 2, 3, 4), random(2, 7, 2, 4), random(2, 7, 2, 4)]
    image = random(2, 7, 8, 3)
    logits = random(2, 3, 11, scale=2.0)
    cases = {
        "conv1d": (lambda x, w: conv1d(x, w, (1, 1)), [random(2, 9, 3), random(3, 3, 4)]),
        "conv1d_causal": (lambda x, w: conv1d(x, w, (4, 0), 2), [random(2, 9, 3), random(3, 3, 4)]),
        "conv2d": (conv2d, [image, random(3, 2, 3, 4)]),
        "max_pool": (lambda x: pool(x, F.max_pool2d, 2), [image]),
        "max_pool_overlapping": (lambda x: pool(x, F.max_pool2d, 3, 2), [image]),
        "mean_pool": (lambda x: pool(x, F.avg_pool2d, 2), [image]),
        "smoothed_entropy": (lambda x, t: entropy(x, t, label_smoothing=0.1), [logits, classes]),
        "counted_entropy": (lambda x, t: entropy(x, t, ignore_index=255), [logits, some]),
        "counted_smoothed_entropy": (
            lambda x, t: entropy(x, t, ignore_index=255, label_smoothing=0.2),
            [logits, some],
        ),
        "z_loss": (lambda x: x.logsumexp(-1).square().mean(), [logits]),
        "mse": (F.mse_loss, [random(4, 5), random(4, 5)]),
        "full_attention": (lambda q, k, v: attention(q, k, v, False), heads),
        "grouped_causal_attention": (lambda q, k, v: attention(q, k, v, True), heads),
    }
    return record_functions(cases, random)


def record_functions(cases, random):
    """Of each function: inputs, output, weights and the gradients of sum(output * weights)."""
    record = {}
    for name, (function, inputs) in cases.items():
        inputs = [t.clone().requires_grad_(t.is_floating_point()) for t in inputs]
        output = function(*inputs)
        weights = random(*output.shape)
        (output * weights).sum().backward()
        record |= {f"{name}.output": output.detach().clone(), f"{name}.weights": weights}
        for k, t in enumerate(inputs):
            record[f"{name}.input.{k}"] = t.detach()
            if t.grad is not None:
                record[f"{name}.gradient.{k}"] = t.grad
    return record


def report(record):
    """Prints the run, and for each group of tensors how far f32 is from f64: no test can ask for less."""
    for name in ("losses", "gradient_norms"):
        if name in record:
            print(f"  {name}: " + " ".join(f"{v:.4f}" for v in record[name].tolist()))
    if "gradient_norms" in record:
        norms = record["gradient_norms"]
        print(f"  clipped steps: {int((norms > MAX_NORM).sum())} of {len(norms)}")
    largest = {}
    for name, exact in record.items():
        if name.startswith("f64."):
            group = name.split(".")[1] + (" of key_bias" if name.endswith("key_bias") else "")
            difference = (record[name.removeprefix("f64.")].double() - exact).abs().max().item()
            largest[group] = max(largest.get(group, 0.0), difference)
    for group, difference in largest.items():
        print(f"  largest |f32 - f64|, {group}: {difference:.1e}")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder = pathlib.Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    # The scales are chosen so that clipping acts in about half of the steps.
    files = {
        "gpt": model_file(1, gpt_shapes(), {"positions": 0.2}, gpt_logits),
        "llama": model_file(2, llama_shapes(), {"tokens": 0.3}, llama_logits),
        "optimizer": optimizer_file(3),
        "functions": functions_file(4),
        "layers": layers_file(5),
    }
    for name, record in files.items():
        path = folder / f"{name}.safetensors"
        record = {key: t.contiguous() for key, t in record.items()}
        # One key: the writer does not fix the order of several.
        save_file(record, path, metadata={"source": f"tests/parity/generate.py, torch {torch.__version__}"})
        print(f"{path.name}: {len(record)} tensors, {path.stat().st_size} bytes")
        report(record)


if __name__ == "__main__":
    main()
