#!/usr/bin/env python3
"""Makes `published.json`: the configurations of the published sizes, and the shape of every parameter as transformers has
it, from models on the meta device, which hold no weights."""
import json
import pathlib
import re

import torch
from transformers import Mamba2Config, Mamba2ForCausalLM

SIZES = {"130m": (768, 24), "370m": (1024, 48), "780m": (1536, 48), "1.3b": (2048, 48), "2.7b": (2560, 64)}


def main():
    table = {}
    for size, (d_model, layers) in SIZES.items():
        config = Mamba2Config(hidden_size=d_model, num_hidden_layers=layers, num_heads=2 * d_model // 64, head_dim=64,
                              state_size=128, n_groups=1, vocab_size=50288, tie_word_embeddings=True)
        with torch.device("meta"):
            model = Mamba2ForCausalLM(config)
        # The layers are alike, which is checked, so that one stands for all.
        shapes = {}
        for name, parameter in model.named_parameters():
            name = re.sub(r"layers\.\d+", "layers.*", name)
            assert shapes.setdefault(name, list(parameter.shape)) == list(parameter.shape), name
        # Untouched by transformers' names: what the published `config.json` says.
        published = dict(d_model=d_model, d_intermediate=0, n_layer=layers, vocab_size=50277,
                         ssm_cfg=dict(layer="Mamba2"), attn_layer_idx=[], attn_cfg={}, rms_norm=True,
                         residual_in_fp32=True, fused_add_norm=True, pad_vocab_size_multiple=16, tie_embeddings=True)
        table[size] = dict(config=published, shapes=shapes)
    path = pathlib.Path(__file__).with_name("published.json")
    lines = [f"  {json.dumps(size)}: {json.dumps(entry)}" for size, entry in table.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
