"""What the runs of Lightning and of Accelerate share: data, loss, and the lines that bench/trainers.py reads."""
import hashlib
import json
import pathlib
import time

import torch
from monai.transforms import RandSpatialCrop
from torch.utils.data import Dataset

CASES, SIDE, CROP, BATCH = 64, 64, 48, 2  # a rank's batch


class Crops(Dataset):
    """Random crops of invented volumes: [1, 48, 48, 48] of [1, 64, 64, 64]."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.volumes = torch.rand(CASES, 1, SIDE, SIDE, SIDE, generator=generator)
        self.crop = RandSpatialCrop((CROP,) * 3, random_size=False).set_random_state(0)

    def __len__(self):
        return CASES

    def __getitem__(self, row):
        return torch.as_tensor(self.crop(self.volumes[row]))


class Steps:
    """Appends a line for each step of rank 0 to FOLDER/steps.jsonl."""

    def __init__(self, folder, rank):
        self.file = open(pathlib.Path(folder) / "steps.jsonl", "a", buffering=1) if rank == 0 else None

    def write(self, step, loss):
        if self.file:
            self.file.write(json.dumps({"step": step, "loss": float(loss), "time": time.time()}) + "\n")


def hash_of_weights(module):
    """SHA-256 of all parameters in the order of their names."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()
