#!/usr/bin/env python3
"""The peers' training steps on a card at the guides' sizes, in bf16: their own models, losses and steps, from
bench/peers.

    python3 peer_step.py NAME [--modes bf16,bf16_channels_last_3d] [--blocks N] [--steps N] [--warmup N]
    python3 peer_step.py NAME --serve     imports at once, and times each time that a line comes on stdin

Modes are those of the peers' scripts: with channels_last_3d in the name that layout, with compile torch.compile. A mode's
name ends up in one JSON line: median, minimum and quartiles of the blocks in ms a step. cuDNN searches (benchmark), TF32 as
torch has it. Blocks of the modes take turns.
"""

import argparse
import json
import os
import statistics
import sys
import time
import types
from pathlib import Path

SMALL = os.environ.get("CARD", "") == "none"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import torch  # noqa: E402

import autoencoder_step  # noqa: E402
import fast_ddpm_step  # noqa: E402
import peerlib  # noqa: E402
import resnet_step  # noqa: E402
import unet_step  # noqa: E402
from card import DEVICE, synchronize  # noqa: E402

MODES = "bf16,bf16_channels_last_3d"
UNET = dict(channels=(256, 256, 512), attention_levels=(False, True, True), num_head_channels=(0, 64, 64), num_res_blocks=2,
            norm_num_groups=32, latent_channels=8, batch=3, space=(36, 44, 28))
SMALL_UNET = dict(channels=(16, 16, 32), attention_levels=(False, False, True), num_head_channels=(0, 0, 16),
                  num_res_blocks=1, norm_num_groups=8, latent_channels=8, batch=1, space=(8, 8, 8))
peerlib.AE["guide"] = dict(channels=(64, 128, 256), num_res_blocks=(2, 2, 2), norm_num_groups=32, latent_channels=8)
peerlib.AE_SHAPE["guide"] = (2, 1, 112, 128, 80)
peerlib.DISC_CHANNELS["guide"] = 32
peerlib.AE_SHAPE["small"] = (1, 1, 16, 16, 16) if SMALL else peerlib.AE_SHAPE["small"]


def autocast(mode):
    return torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled="bf16" in mode)


peerlib.autocast = autocast  # theirs is of CPUs


def autoencoder(mode, adversarial):
    size = "small" if SMALL else "guide"
    # Its discriminator takes the whole of three strided convolutions; a small volume is too small for them.
    if SMALL:
        peerlib.AE_SHAPE[size] = (1, 1, 32, 32, 32)
    return autoencoder_step.make_step(torch, types.SimpleNamespace(size=size, adversarial=adversarial), mode)


def fast_ddpm(mode):
    given = dict(ch=8, mult="1,2", res_blocks=1, side=8) if SMALL else dict(ch=64, mult="1,2,4", res_blocks=2, side=128)
    return fast_ddpm_step.make_step(torch, types.SimpleNamespace(batch=1, **given), mode)


def resnet(mode):
    given = dict(depth=10, image=(16, 16, 16), batch=2) if SMALL else dict(depth=50, image=(256, 256, 64), batch=6)
    return resnet_step.make_step(torch, types.SimpleNamespace(ties="breslow", **given), mode)


def diffusion(mode):
    """The guide's network on latents of the guide's size."""
    given = dict(SMALL_UNET if SMALL else UNET)
    channels, batch, space = (given.pop(key) for key in ("latent_channels", "batch", "space"))
    network = dict(in_channels=channels, out_channels=channels, **given)
    return unet_step.make_step(torch, types.SimpleNamespace(batch=batch, flash=True), mode, network, space, clip=1.0)


STEPS = {"autoencoder": lambda mode: autoencoder(mode, True), "autoencoder_alone": lambda mode: autoencoder(mode, False),
         "fast_ddpm": fast_ddpm, "resnet": resnet, "diffusion": diffusion}


class Peer:
    """The steps of one network, one a mode, made and warmed up at the first call."""

    def __init__(self, name, modes, warmup):
        self.name, self.modes, self.warmup, self.steps, self.first = name, modes, warmup, {}, {}

    def make(self):
        for mode in self.modes:
            begun = time.perf_counter()
            try:
                step = STEPS[self.name](mode)
                step()
                synchronize()
                self.first[mode] = round(time.perf_counter() - begun, 2)
                for _ in range(self.warmup - 1):
                    step()
                self.steps[mode] = step
            except RuntimeError as error:  # no memory, say
                print(f"{self.name} {mode}: {str(error).splitlines()[0][:200]}", file=sys.stderr, flush=True)

    def time(self, blocks, count):
        if not self.first:
            self.make()
        spent = {mode: [] for mode in self.steps}
        if DEVICE.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for block in range(blocks):
            for mode in list(self.steps) if block % 2 == 0 else reversed(list(self.steps)):
                synchronize()
                begun = time.perf_counter()
                for _ in range(count):
                    self.steps[mode]()
                synchronize()
                spent[mode].append((time.perf_counter() - begun) * 1e3 / count)
        return self.line(spent)

    def line(self, spent):
        result = {}
        for mode, blocks in spent.items():
            quarters = statistics.quantiles(blocks, n=4) if len(blocks) > 1 else blocks * 3
            result[mode] = {"median_ms": round(statistics.median(blocks), 3), "min_ms": round(min(blocks), 3),
                            "q1_ms": round(quarters[0], 3), "q3_ms": round(quarters[2], 3), "blocks": len(blocks),
                            "first_step_s": self.first[mode], "loss_after": float(self.steps[mode].state["loss"])}
        line = {"script": "peer_step", "name": self.name, "result": result,
                "parameters": next((step.parameters for step in self.steps.values()), 0), "torch": torch.__version__}
        if DEVICE.type == "cuda":
            line["peak_mib"] = round(torch.cuda.max_memory_allocated() / 2**20)
            line["reserved_mib"] = round(torch.cuda.max_memory_reserved() / 2**20)
            torch.cuda.empty_cache()
        return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=STEPS)
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--shows", action="store_true", help="the medians once more, as a row's figures")
    run = parser.parse_args()
    import monai.networks.nets  # noqa: F401  before anybody waits
    peer = Peer(run.name, run.modes.split(","), run.warmup)
    for _ in sys.stdin if run.serve else [""]:
        torch.backends.cudnn.benchmark = True
        torch.set_default_device(DEVICE)  # what the peers' scripts make lies on the card
        line = peer.time(run.blocks, run.steps)
        print(json.dumps(line), flush=True)
        if run.shows:
            print("figures: " + ", ".join(f"{mode} {result['median_ms']:.1f} ms, first step {result['first_step_s']:.0f} s"
                                          for mode, result in line["result"].items()), flush=True)


if __name__ == "__main__":
    main()
