#!/usr/bin/env python3
"""Passes checkpoints between this crate and transformers, both ways, and compares the logits.

    pip install -r tests/golden/requirements.txt
    python ci/peers/checkpoint.py

A checkpoint that this crate saved is loaded by transformers; transformers' own, as one file, as shards and as a pickle,
is loaded here. Run by hand: torch is no part of the project's tests."""
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
GATE = 5e-6


def main():
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    held = [compare(name) for name in ("g1", "g2", "g4", "state_spaces")]
    sys.exit(not all(held))


def compare(name):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ours = convert(ROOT / "tests" / "golden" / name, folder / "ours")
        model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder / "ours", output_loading_info=True)
        faults = {kind: names for kind, names in loading.items() if names}
        with torch.no_grad():
            logits = model.eval()(ours["ids"], use_cache=False).logits
        print(f"{name}, saved here, as {type(model).__name__}: {faults or 'every tensor loaded'}")
        held = report("logits", logits, ours["logits"]) and not faults
        for form, save in FORMS.items():
            save(model, folder / form)
            read = convert(folder / form, folder / f"{form} again")
            held &= report(f"logits of transformers' {form}, loaded here", logits, read["logits"])
        return held


def convert(source, target):
    """Loads `source` by this crate and saves it in `target`; returns ids and logits."""
    command = ["cargo", "run", "--quiet", "--example", "convert", "--", source, target]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return load_file(target / "logits.safetensors")


def report(what, expected, actual):
    error = ((expected - actual).abs().max() / expected.abs().max()).item()
    print(f"  {what}: off by {error:.1e}, gate {GATE:.0e}")
    return error <= GATE


def save_as_pickle(model, folder):
    folder.mkdir()
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


FORMS = {
    "file": lambda model, folder: model.save_pretrained(folder),
    "shards": lambda model, folder: model.save_pretrained(folder, max_shard_size="30KB"),
    "pickle": save_as_pickle,
}

if __name__ == "__main__":
    main()
