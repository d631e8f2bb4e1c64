#!/usr/bin/env python3
"""Makes the reference data beside it: `pip install -r requirements.txt && python generate.py`.

Each set is a tiny Mamba-2 of random weights, and what two implementations make of it:

* transformers (PyTorch on the CPU, f32): logits, hidden states, the state after a prompt, greedy continuations;
* the recurrence written out below, token by token in float64, with autograd's gradients: the truth.

Where the two differ, and what is compared with which:

* In f32 transformers is off the truth of `g1` by up to 2.3e-6 in logits and 1.6e-6 in gradients, so gates hold against the truth.
* Before 5.23 it normalises over all groups at once, before 4.57 it tiles the groups over the heads: hence the pinned version.
* Its decoding step does not clamp dt to `time_step_limit`, its prefill does: limits are compared on prefill alone.
* `generate` without a mask hides prompt tokens that equal the padding token: a mask is passed.
* A right-padded prefill corrupts its cache: padding is compared with unpadded rows, not with it.
* It keeps four columns of the convolution's input where three are enough: the last three are compared.
* Its hidden states start after the first layer and end with the final norm's output.

A set that judges the model may not be picked for what the model makes of it, so nothing about it is free:

* `g1` is the reference's own: seed 100, one group.
* `gG` has G groups, the seed G, ids from seeds behind 1000 * G, and the sizes of `g1`.
* `g4` differs beyond that only where the rule would lose sight of something: 8 heads of 8 in place of 4 of 16, so that
  a group still has more heads than one; and a tied head, biases in the projections and a kernel of 3 columns, which no
  other set has.
* Whether a gate is held or missed, seeds, sizes and gates stay.

Forms of the model's arithmetic are compared on other data: `python generate.py --development FOLDER` makes the sets of
the same three configurations with the seeds 200 to 211 in a folder outside the repository, and `cargo run --example
gradients -- FOLDER/*` tells the errors there. Gradients with much cancellation are worse than f32 can give: the truth
file says for each how far half a unit in the last place of the weights moves it, which in the development sets is up
to 1.4e-5, and transformers in f32 is off by up to 4e-5 on the same ones.
"""
import argparse
import json
import math
import pathlib
import pickletools
import zipfile

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import save_file

BASE = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_heads=4, head_dim=16, expand=2, state_size=8,
            n_groups=1, conv_kernel=4, chunk_size=8, layer_norm_epsilon=1e-5, use_bias=False, use_conv_bias=True,
            tie_word_embeddings=False, residual_in_fp32=True, pad_token_id=0, bos_token_id=1, eos_token_id=None)
SETS = {"g1": {}, "g2": dict(n_groups=2),
        "g4": dict(n_groups=4, num_heads=8, head_dim=8, use_bias=True, tie_word_embeddings=True, conv_kernel=3)}
DEVELOPMENT = range(200, 212)
SHAPES = [(b, l) for b in (1, 3) for l in (1, 7, 8, 17)]
PROMPTS = [(1, 1), (1, 2), (1, 3), (3, 7), (1, 17)]
NEW_TOKENS = 16
DT_LIMIT = (0.02, 0.2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--development", metavar="FOLDER", type=pathlib.Path)
    development = parser.parse_args().development
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    for name, differs in SETS.items():
        groups = differs.get("n_groups", 1)
        if development:
            for seed in DEVELOPMENT:
                make(development / f"{name}s{seed}", differs, seed, 1000 * seed)
        else:
            folder = pathlib.Path(__file__).parent / name
            model = make(folder, differs, *((100, 0) if groups == 1 else (groups, 1000 * groups)))
            if name == "g4":
                save_as_state_spaces(model, folder.with_name("state_spaces"))
                save_as_views(model.config, folder.with_name("views"))


def make(folder, differs, seed, offset):
    """Draws the weights by `seed` and the ids by seeds behind `offset`, and saves all of a set; returns the model."""
    folder.mkdir(exist_ok=True, parents=True)
    config = transformers.Mamba2Config(**{**BASE, **differs}, architectures=["Mamba2ForCausalLM"])
    model = transformers.Mamba2ForCausalLM(config).eval()
    draw_weights(model, seed)
    weights = {key: value for key, value in model.state_dict().items() if not tied(config, key)}
    config.save_pretrained(folder)
    save(weights, folder / "model.safetensors")
    save(of_transformers(model, config, offset), folder / "hf.safetensors")
    save(of_truth(model, config, offset), folder / "truth64.safetensors")
    save(of_limits(model, config), folder / "variants.safetensors")
    print(folder.name, sum(file.stat().st_size for file in folder.iterdir()), "bytes")
    return model


def draw_weights(model, seed):
    """Every parameter random and well scaled, so that a fault in the use of any of them shows."""
    random = torch.Generator().manual_seed(seed)
    scale = {
        "A_log": lambda n, p: torch.log(1 + 15 * torch.rand(p.shape, generator=random)),
        "dt_bias": lambda n, p: -2 + 1.5 * n,
        "D": lambda n, p: 1 + 0.5 * n,
    }
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            normal = torch.randn(parameter.shape, generator=random)
            last = name.rsplit(".", 1)[-1]
            if last in scale:
                value = scale[last](normal, parameter)
            elif "norm" in name:
                value = 1 + 0.2 * normal
            elif "conv1d" in name:
                value = normal * (0.2 if last == "bias" else 0.5)
            elif last == "bias":
                value = 0.1 * normal
            elif "embeddings" in name:
                value = normal
            else:
                value = normal / math.sqrt(parameter.shape[-1])
            parameter.copy_(value)


def truth(weights, config, ids):
    """The logits (b, l, v) by the recurrence in the weights' own dtype, one token after another."""
    return hidden_and_logits(weights, config, ids)[1]


def hidden_and_logits(weights, config, ids):
    """What each layer leaves in the residual and at last the final norm, (b, l, d) each; and the logits."""
    eps, heads, groups = config.layer_norm_epsilon, config.num_heads, config.n_groups
    hidden, all_hidden = weights["backbone.embeddings.weight"][ids], []
    for layer in range(config.num_hidden_layers):
        of = lambda name: weights.get(f"backbone.layers.{layer}.{name}")
        hidden = hidden + mixer(lambda name: of("mixer." + name), config, rms(hidden, eps) * of("norm.weight"))
        all_hidden.append(hidden)
    hidden = rms(hidden, eps) * weights["backbone.norm_f.weight"]
    head = weights.get("lm_head.weight", weights["backbone.embeddings.weight"])
    return [*all_hidden, hidden], hidden @ head.T


def mixer(of, config, u):
    h, p, g, n, k = config.num_heads, config.head_dim, config.n_groups, config.state_size, config.conv_kernel
    b, l, _ = u.shape
    i = h * p
    z, xbc, dt = F.linear(u, of("in_proj.weight"), of("in_proj.bias")).split([i, i + 2 * g * n, h], dim=-1)
    dt = F.softplus(dt + of("dt_bias"), threshold=700).clamp(*config.time_step_limit)
    kernel, bias = of("conv1d.weight")[:, 0], of("conv1d.bias")
    padded = F.pad(xbc, (0, 0, k - 1, 0))
    state, ys = torch.zeros(b, h, p, n, dtype=u.dtype), []
    for t in range(l):
        column = F.silu((padded[:, t:t + k] * kernel.T).sum(1) + bias)
        x, bmat, cmat = column.split([i, g * n, g * n], dim=-1)
        x = x.view(b, h, p)
        bmat, cmat = (m.view(b, g, n).repeat_interleave(h // g, 1) for m in (bmat, cmat))
        decay = torch.exp(-dt[:, t] * torch.exp(of("A_log")))
        state = decay[..., None, None] * state + torch.einsum("bh,bhp,bhn->bhpn", dt[:, t], x, bmat)
        ys.append(torch.einsum("bhpn,bhn->bhp", state, cmat) + of("D")[:, None] * x)
    gated = torch.stack(ys, 1).reshape(b, l, i) * F.silu(z)
    normed = rms(gated.view(b, l, g, i // g), config.layer_norm_epsilon).reshape(b, l, i)
    return F.linear(normed * of("norm.weight"), of("out_proj.weight"), of("out_proj.bias"))


def rms(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def of_transformers(model, config, offset):
    data = {}
    with torch.no_grad():
        for b, l in SHAPES:
            ids, case = draw_ids(config, b, l, offset + 10 * l + b), f"b{b}s{l}"
            output = model(ids, use_cache=False, output_hidden_states=True)
            data |= {f"{case}.input_ids": ids, f"{case}.logits": output.logits}
            data |= {f"{case}.hidden.{index}": hidden for index, hidden in enumerate(output.hidden_states)}
        cache = model(data["b1s17.input_ids"], use_cache=True).cache
        for layer in range(config.num_hidden_layers):
            data[f"b1s17.state.conv.{layer}"] = cache.get_conv_state(layer, state_idx=0)
            data[f"b1s17.state.ssm.{layer}"] = cache.get_recurrent_state(layer, state_idx=0)
        for b, l in PROMPTS:
            prompt, case = draw_ids(config, b, l, 5000 + l), f"greedy.b{b}s{l}"
            data[f"{case}.prompt"] = prompt
            data[f"{case}.tokens"] = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False,
                                                    max_new_tokens=NEW_TOKENS, use_cache=True)
    return data


def of_truth(model, config, offset):
    data = {}
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    for b, l in SHAPES:
        ids, case = draw_ids(config, b, l, offset + 10 * l + b), f"b{b}s{l}"
        hidden, logits = hidden_and_logits(weights, config, ids)
        data |= {f"{case}.hidden.{index}": h.float() for index, h in enumerate(hidden)}
        data[f"{case}.logits"] = logits.float()
        if (b, l) == SHAPES[-1]:
            loss, gradients = of_loss(weights, config, ids)
            data |= {f"{case}.loss": loss.float().reshape(1), f"{case}.loss_f64": loss.reshape(1)}
            data |= {f"{case}.grad.{name}": gradient.float() for name, gradient in gradients.items()}
            data |= moved(weights, config, ids, gradients, case)
    return data


def of_loss(weights, config, ids):
    weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
    logits = truth(weights, config, ids)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    return loss.detach(), {name: value.grad for name, value in weights.items()}


def moved(weights, config, ids, gradients, case):
    """How far the truth itself moves where every weight is off by up to half a unit in the last place of f32: the
    largest max|a - b| / max|b| of four draws. Rounding moves any f32 model that far."""
    random, distance = torch.Generator().manual_seed(1), {name: 0 for name in weights}
    for _ in range(4):
        off = {name: value * (1 + 2**-24 * (2 * torch.rand(value.shape, generator=random, dtype=value.dtype) - 1))
               for name, value in weights.items()}
        for name, gradient in of_loss(off, config, ids)[1].items():
            error = (gradient - gradients[name]).abs().max() / gradients[name].abs().max()
            distance[name] = max(distance[name], error.item())
    return {f"{case}.moved.{name}": torch.tensor([value]) for name, value in distance.items()}


def of_limits(model, config):
    """The logits under a limit of dt, by the truth."""
    limited = transformers.Mamba2Config(**{**config.to_dict(), "time_step_limit": DT_LIMIT})
    ids = draw_ids(config, 2, 17, 77)
    weights = {name: value.detach().double() for name, value in model.named_parameters()}
    low, high = DT_LIMIT
    return {"b2s17.input_ids": ids, f"dtlimit_{low}_{high}.logits": truth(weights, limited, ids).float()}


def save_as_state_spaces(model, folder):
    """The same weights as the state-spaces checkpoints keep them: a pickle, in which a tied head is the embedding."""
    folder.mkdir(exist_ok=True)
    config = model.config
    weights = {key.replace("embeddings", "embedding"): value for key, value in model.state_dict().items()}
    torch.save(weights, folder / "pytorch_model.bin")
    block = dict(layer="Mamba2", d_state=config.state_size, d_conv=config.conv_kernel, headdim=config.head_dim,
                 ngroups=config.n_groups, chunk_size=config.chunk_size, bias=config.use_bias)
    fields = dict(d_model=config.hidden_size, d_intermediate=0, n_layer=config.num_hidden_layers,
                  vocab_size=config.vocab_size, ssm_cfg=block, attn_layer_idx=[], attn_cfg={}, rms_norm=True,
                  residual_in_fp32=True, fused_add_norm=True, pad_vocab_size_multiple=8, tie_embeddings=True)
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n")


def save_as_views(config, folder):
    """A small model as a safetensors file; as a pickle of views of one storage; and as one that leads out of it."""
    folder.mkdir(exist_ok=True)
    small = dict(vocab_size=16, hidden_size=4, num_hidden_layers=1, num_heads=2, head_dim=4, state_size=2, n_groups=2)
    config = transformers.Mamba2Config(**{**config.to_dict(), **small})
    model = transformers.Mamba2ForCausalLM(config)
    draw_weights(model, 1)
    weights = {key: value.detach() for key, value in model.state_dict().items() if not tied(config, key)}
    config.save_pretrained(folder)
    save(weights, folder / "model.safetensors")
    storage = torch.cat([value.flatten() for value in weights.values()])
    parts = storage.split([value.numel() for value in weights.values()])
    views = {key: part.view(value.shape) for (key, value), part in zip(weights.items(), parts)}
    torch.save(views, folder / "pytorch_model.bin")
    for name, offset in (("beyond", storage.numel() - 1), ("hostile", 2**40)):
        move_last_view(folder / "pytorch_model.bin", folder / f"{name}.bin", offset)


def move_last_view(source, target, offset):
    """Copies a pickle, its last tensor starting at element `offset` of the storage."""
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(target, "w") as moved:
        for entry in whole.infolist():
            content = whole.read(entry)
            if entry.filename.endswith("data.pkl"):
                ops = list(pickletools.genops(content))
                last = max(index for index, (op, _, _) in enumerate(ops) if op.name == "BINPERSID")
                start, end = ops[last + 1][2], ops[last + 2][2]
                # Opcode LONG1, the number of bytes, the bytes.
                content = content[:start] + b"\x8a\x06" + offset.to_bytes(6, "little") + content[end:]
            moved.writestr(zipfile.ZipInfo(entry.filename), content)


def draw_ids(config, b, l, seed):
    return torch.randint(0, config.vocab_size, (b, l), generator=torch.Generator().manual_seed(seed))


def tied(config, key):
    return config.tie_word_embeddings and key == "lm_head.weight"


def save(tensors, path):
    save_file({key: value.detach().contiguous().clone() for key, value in tensors.items()}, path,
              metadata={"format": "pt"})


if __name__ == "__main__":
    main()
