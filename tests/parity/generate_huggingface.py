"""Writes examples/data/tiny_{gpt2,llama} and data/huggingface_{gpt2,llama}.safetensors: two models of random
weights as transformers saves them, and what it computes with them.

Run by hand, once (pip install torch transformers); the C++ tests and examples/12 read the files. Of each: i32
tokens and targets [batch, seq], f32 logits, loss, and gradients under the names of the model's own file.
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

BATCH, SEQ, VOCAB, EMBED, LAYERS = 2, 8, 48, 16, 2
here = pathlib.Path(__file__).parent

models = {
    "gpt2": GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB, n_positions=SEQ + 4, n_embd=EMBED, n_layer=LAYERS, n_head=4, n_inner=24,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
        )
    ),
    "llama": LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB, hidden_size=EMBED, intermediate_size=24, num_hidden_layers=LAYERS,
            num_attention_heads=4, num_key_value_heads=2, head_dim=6, max_position_embeddings=SEQ,
            rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
            bos_token_id=0, eos_token_id=0,
        )
    ),
}
torch.manual_seed(5)
for name, model in models.items():
    with torch.no_grad():  # nothing is zero or one, so that nothing that is left out goes unseen
        for parameter in model.parameters():
            parameter.add_(0.15 * torch.randn_like(parameter))
    folder = here.parents[1] / "examples" / "data" / f"tiny_{name}"
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink()  # says nothing of the model
    tokens = torch.randint(VOCAB, (BATCH, SEQ + 1))
    logits = model(tokens[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    record = {f"gradient.{path}": p.grad for path, p in model.named_parameters()}
    record |= {"logits": logits.detach(), "loss": loss.detach()}
    record |= {"tokens": tokens[:, :-1].int().contiguous(), "targets": tokens[:, 1:].int().contiguous()}
    save_file(record, here / "data" / f"huggingface_{name}.safetensors")
