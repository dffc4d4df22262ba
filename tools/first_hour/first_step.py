#!/usr/bin/env python3
"""How long the first call of a convolution takes, in which cuDNN searches, and how long later ones take: with segments of
the allocator that grow and with plain ones, where the cache is emptied after each search, as libtorch does, or kept, and
where four engines, two or one are tried in place of ten.

    python3 first_step.py [WAY…]               each way in a process of its own
    python3 first_step.py --way grow|plain|kept|four|two|one
"""

import argparse
import os
import subprocess
import sys
import time

WAYS = {"plain": "False", "grow": "True", "kept": "True", "four": "True", "two": "True", "one": "True"}
ENGINES = {"four": 4, "two": 2, "one": 1}
LAYERS = [(64, 64, (112, 128, 80), 3), (128, 128, (56, 64, 40), 3), (256, 256, (28, 32, 20), 3), (1, 64, (112, 128, 80), 3)]


def searched(way):
    import torch

    from card import DEVICE, ON_A_CARD, synchronize

    torch.backends.cudnn.benchmark = True
    if way in ENGINES:
        torch.backends.cudnn.benchmark_limit = ENGINES[way]
    if way == "kept":
        torch._C._cudnn_set_conv_benchmark_empty_cache(False)
    last = torch.channels_last_3d
    beside = torch.empty((6 << 30) if ON_A_CARD else 16, device=DEVICE, dtype=torch.uint8)  # as activations are
    del beside
    for channels, out, space, taps in LAYERS:
        if not ON_A_CARD:
            space = (6, 6, 6)
        x = torch.randn(2, channels, *space, device=DEVICE, dtype=torch.bfloat16).contiguous(memory_format=last)
        w = torch.randn(out, channels, taps, taps, taps, device=DEVICE, dtype=torch.bfloat16).contiguous(memory_format=last)
        x.requires_grad_(channels > 1)
        w.requires_grad_()
        times = []
        for _ in range(2):
            synchronize()
            begun = time.perf_counter()
            y = torch.conv3d(x, w, padding=taps // 2)
            synchronize()
            forward = time.perf_counter() - begun
            y.backward(y.detach())
            synchronize()
            times.append((forward, time.perf_counter() - begun - forward))
        print(f"figures: {way} {channels} to {out}: first {times[0][0]:.2f} + {times[0][1]:.2f} s, then {times[1][0] * 1e3:.1f} + "
              f"{times[1][1] * 1e3:.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", metavar="WAY", help="all where none is named")
    parser.add_argument("--way", choices=WAYS, help="in this process")
    options = parser.parse_args()
    if options.way:
        searched(options.way)
        return 0
    status = 0
    for each in options.ways or WAYS:
        grows = WAYS[each]
        begun = time.perf_counter()
        environment = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{grows}"}
        done = subprocess.run([sys.executable, "-B", __file__, "--way", each], env=environment)
        print(f"figures: {each} {time.perf_counter() - begun:.1f} s in all", flush=True)
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
