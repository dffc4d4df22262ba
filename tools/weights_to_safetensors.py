#!/usr/bin/env python3
"""Turns weights that PyTorch has saved (.pt, .pth) into a safetensors file for `model.weights`.

  python3 tools/weights_to_safetensors.py resnet_18_23dataset.pth [resnet18.safetensors] [--key model] [--list]

Needs torch and safetensors (`pip install torch safetensors`); Larmor itself needs neither. The file is a state
dict, or a dict that holds one under state_dict, model_state_dict or model (--key names another). The prefix
`module.` of DataParallel is taken off; other names stay as they are, and Larmor says which of them it used. Only
tensors are read (weights_only=True): a file that would run code is refused. MONAI and MedicalNet save such files.
"""

import argparse
import os
import sys
from pathlib import Path

CONTAINERS = ("state_dict", "model_state_dict", "model")
WRAPPER = "module."


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path, nargs="?", help="by default the input's name with .safetensors")
    parser.add_argument("--key", help="where in the file the state dict is; dots lead further down")
    parser.add_argument("--list", action="store_true", help="show names and shapes, and write nothing")
    return parser.parse_args()


def read_file(path):
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        sys.exit(f"{path}: there is no such file")
    except Exception as fault:  # torch raises whatever its unpickler, its zip reader or the disk comes upon
        sys.exit(f"{path}: holds more than tensors, or is no file of PyTorch ({type(fault).__name__})\n"
                 "Where you trust it, save the state dict alone: torch.save(model.state_dict(), PATH)")


def find_state_dict(saved, key):
    import torch

    for part in key.split(".") if key else ():
        if not isinstance(saved, dict) or part not in saved:
            there = list(saved)[:20] if isinstance(saved, dict) else "no names"
            sys.exit(f"--key {key}: there is no {part}; there are {there}")
        saved = saved[part]
    while isinstance(saved, dict) and not any(isinstance(value, torch.Tensor) for value in saved.values()):
        inner = next((saved[name] for name in CONTAINERS if name in saved), None)
        if inner is None:
            sys.exit(f"no state dict found; --key names one of {list(saved)[:20]}")
        saved = inner
    if not isinstance(saved, dict):
        sys.exit("what the file holds is no state dict")
    return saved


def plain_tensors(state):
    """Tensors under their own names, each with memory of its own."""
    import torch

    tensors, others = {}, []
    for name, value in state.items():
        plain = name
        while plain.startswith(WRAPPER):
            plain = plain[len(WRAPPER):]
        if not isinstance(value, torch.Tensor):
            others.append(name)
        elif plain in tensors:
            sys.exit(f"{plain} is there twice, with and without {WRAPPER}")
        else:
            tensors[plain] = value.detach().clone(memory_format=torch.contiguous_format)
    return tensors, others


def write(tensors, path):
    from safetensors.torch import save_file

    unfinished = path.with_name(path.name + ".part")
    try:
        save_file(tensors, unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def main():
    options = parse_arguments()
    tensors, others = plain_tensors(find_state_dict(read_file(options.input), options.key))
    if options.list:
        for name, tensor in tensors.items():
            print(name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
        return
    output = options.output or options.input.with_suffix(".safetensors")
    write(tensors, output)
    values = sum(tensor.numel() for tensor in tensors.values())
    print(f"{output}: {len(tensors)} tensors, {values} values")
    if others:
        print(f"left out, being no tensors: {', '.join(map(str, others))}")


if __name__ == "__main__":
    main()
