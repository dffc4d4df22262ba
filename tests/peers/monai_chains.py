"""Runs the transform chains of a JSON file on volumes with MONAI itself, and writes what comes out.

  monai_chains.py CHAINS.json --made OUT.safetensors     a made-up volume: the golden file of the tests
  monai_chains.py CHAINS.json --picture OUT.safetensors  one plane of it, without its place in the world
  monai_chains.py CHAINS.json OUT_FOLDER FILE...         image files, read by MONAI: OUT_FOLDER/0.safetensors, 1, ...
"""

import json
import sys

import monai.transforms as transforms
import numpy
import torch
from monai.data import MetaTensor
from safetensors.torch import save_file


def made_up():
    """Two channels of smooth noise with a margin of zeros, oblong voxels in LPS order."""
    generator = torch.Generator().manual_seed(5)
    noise = torch.rand((1, 2, 7, 6, 9), generator=generator)
    voxels = torch.nn.functional.interpolate(noise, size=(14, 12, 17), mode="trilinear")[0]
    voxels[:, :2], voxels[:, :, 10:], voxels[:, :, :, :3] = 0, 0, 0
    affine = torch.diag(torch.tensor([-1.2, -0.9, 2.1, 1.0], dtype=torch.float64))
    affine[:3, 3] = torch.tensor([10.0, 20.0, -30.0])
    return MetaTensor(voxels.contiguous(), affine=affine)


def read(path):
    return transforms.EnsureChannelFirst()(transforms.LoadImage(image_only=True)(path))


def results_of(entries, volume):
    results = {}
    for entry in entries:
        steps = [getattr(transforms, name)(**parameters)
                 for step in entry["chain"] for name, parameters in step.items()]
        result = transforms.Compose(steps)(volume.clone())
        results[entry["name"]] = torch.as_tensor(numpy.asarray(result), dtype=torch.float32).contiguous()
        results[entry["name"] + "/affine"] = torch.as_tensor(numpy.asarray(result.affine), dtype=torch.float64)
    return results


def main():
    chains, out, *files = sys.argv[1:]
    entries = json.load(open(chains))
    if out in ("--made", "--picture"):
        volume = made_up()
        if out == "--picture":
            volume = MetaTensor(volume.as_tensor()[..., 8].contiguous())
        stored = {"voxels": volume.as_tensor(), "affine": volume.affine}
        save_file(results_of(entries, volume) | stored, files[0])
        return
    for number, file in enumerate(files):
        save_file(results_of(entries, read(file)), f"{out}/{number}.safetensors")


if __name__ == "__main__":
    main()
