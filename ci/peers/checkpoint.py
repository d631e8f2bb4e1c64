#!/usr/bin/env python3
"""Loads checkpoints saved by this crate in transformers and compares the logits.

    pip install -r tests/golden/requirements.txt
    python ci/peers/checkpoint.py

Run by hand: torch is no part of the project's tests."""
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
GATE = 5e-6


def main():
    worst = 0
    for name in ("g1", "g2", "g4", "state_spaces"):
        with tempfile.TemporaryDirectory() as folder:
            source = ROOT / "tests" / "golden" / name
            command = ["cargo", "run", "--quiet", "--example", "convert", "--", source, folder]
            subprocess.run(command, cwd=ROOT, check=True)
            model, loading = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
            faults = {kind: names for kind, names in loading.items() if names}
            data = load_file(pathlib.Path(folder) / "logits.safetensors")
            with torch.no_grad():
                logits = model.eval()(data["ids"], use_cache=False).logits
        error = ((logits - data["logits"]).abs().max() / logits.abs().max()).item()
        worst = max(worst, error)
        print(f"{name}: {type(model).__name__}, {faults or 'every tensor loaded'}, logits off by {error:.1e}, gate {GATE:.0e}")
        if faults:
            sys.exit(1)
    sys.exit(worst > GATE)


if __name__ == "__main__":
    main()
