#!/usr/bin/env python3
"""Convolutions of the five networks at the guides' sizes, in bf16, each way in both layouts; and the two ways to upsample.

    python3 conv_table.py [--seconds 60] [--rounds 10] [--only WORD]

A line each: time, TFLOP/s, GB/s, share of the floor (800 TFLOP/s, 3 TB/s; above 100 % would be faster than that), MiB that
the allocator held beside inputs and result. cuDNN searches (benchmark). Inputs take turns until they exceed an L2. What
does not fit into --seconds is named at the end.
"""

import argparse
import math
import sys
import time

import torch

from card import BEYOND_CACHE, DEVICE, ON_A_CARD, TERABYTES, TFLOPS, extra_mib, median_ms
from conv_layers import LAYERS, UPSAMPLINGS, Layer

LAYOUTS = {"NCDHW": torch.contiguous_format, "NDHWC": torch.channels_last_3d}
WAYS = ("forward", "dgrad", "wgrad")
ONE, NONE = [1, 1, 1], [0, 0, 0]


def filled(shape, layout):
    return torch.randn(shape, device=DEVICE, dtype=torch.bfloat16).contiguous(memory_format=layout)


def in_turn(shape, layout):
    """So many tensors that going round through them reads from memory."""
    bytes_each = 2 * math.prod(shape)
    return [filled(shape, layout) for _ in range(max(1, min(8, -(-BEYOND_CACHE // bytes_each))))]


def small(layer):
    """For a rehearsal: the same layer of few channels and voxels."""
    return Layer(layer.name, 1, min(layer.channels, 8), min(layer.out, 8), tuple(min(n, 10) for n in layer.space), layer.taps,
                 layer.stride, layer.first)


def work_of(layer, way, inputs, gradients, weight):
    stride, padding = [layer.stride] * 3, layer.padding()
    if way == "forward":
        return lambda i: torch.ops.aten.convolution(inputs[i % len(inputs)], weight, None, stride, padding, ONE, False, NONE, 1)
    mask = [way == "dgrad", way == "wgrad", False]
    return lambda i: torch.ops.aten.convolution_backward(
        gradients[i % len(gradients)], inputs[i % len(inputs)], weight, None, stride, padding, ONE, False, NONE, 1, mask)


def measured(layer, way, layout, rounds):
    """(milliseconds, flop, bytes, MiB beside)."""
    of_input = (layer.batch, layer.channels, *layer.space)
    of_result = (layer.batch, layer.out, *layer.out_space())
    inputs, weight = in_turn(of_input, layout), filled((layer.out, layer.channels, *layer.taps), layout)
    gradients = in_turn(of_result, layout) if way != "forward" else []
    work = work_of(layer, way, inputs, gradients, weight)
    work(0)  # the search, whose workspaces are no step's
    _, beside = extra_mib(lambda: work(1))
    flop = 2 * math.prod(of_result) * layer.channels * math.prod(layer.taps)
    bytes_moved = 2 * (math.prod(of_input) + math.prod(of_result) + weight.numel())
    return median_ms(work, rounds), flop, bytes_moved, beside


def floor_ms(flop, bytes_moved):
    return max(flop / TFLOPS / 1e9, bytes_moved / TERABYTES / 1e9)


def row_of(layer, rounds):
    for layout_name, layout in LAYOUTS.items():
        for way in WAYS:
            if way == "dgrad" and layer.first:
                continue
            where = f"{layer.channels}->{layer.out} {'x'.join(map(str, layer.taps))} /{layer.stride} at " \
                    f"{'x'.join(map(str, layer.space))} x{layer.batch}"
            try:
                ms, flop, bytes_moved, beside = measured(layer, way, layout, rounds)
            except RuntimeError as error:
                print(f"{layer.name:28} {where:36} {way:8} {layout_name} failed: {str(error).splitlines()[0][:120]}", flush=True)
                continue
            print(f"{layer.name:28} {where:36} {way:8} {layout_name} {ms:9.3f} ms {flop / ms / 1e9:7.1f} TFLOP/s "
                  f"{bytes_moved / ms / 1e6:7.0f} GB/s {floor_ms(flop, bytes_moved) / ms:6.1%} {beside:8.1f} MiB", flush=True)
            if ON_A_CARD:
                torch.cuda.empty_cache()


def pair_ms(batch, channels, space, layout, rounds):
    """Nearest voxels doubled, then a 3^3 convolution: forward, and backward for both gradients."""
    fine = [2 * n for n in space]
    inputs, weight = in_turn((batch, channels, *space), layout), filled((channels, channels, 3, 3, 3), layout)
    gradients = in_turn((batch, channels, *fine), layout)
    upsampled = torch.ops.aten.upsample_nearest3d(inputs[0], None, [2.0] * 3)

    def forward(i):
        wide = torch.ops.aten.upsample_nearest3d(inputs[i % len(inputs)], None, [2.0] * 3)
        return torch.ops.aten.convolution(wide, weight, None, ONE, ONE, ONE, False, NONE, 1)

    def backward(i):
        of_wide, _, _ = torch.ops.aten.convolution_backward(gradients[i % len(gradients)], upsampled, weight, None, ONE, ONE,
                                                            ONE, False, NONE, 1, [True, True, False])
        return torch.ops.aten.upsample_nearest3d_backward(of_wide, fine, list(inputs[0].shape), 2.0, 2.0, 2.0)

    return median_ms(forward, rounds, warm=2), median_ms(backward, rounds, warm=2)


def transposed_ms(batch, channels, space, layout, rounds):
    """A transposed 4^3 convolution of stride 2, as larmor/kernels/convolution/upsample_conv.cpp has it."""
    two = [2, 2, 2]
    inputs, weight = in_turn((batch, channels, *space), layout), filled((channels, channels, 4, 4, 4), layout)
    gradients = in_turn((batch, channels, *[2 * n for n in space]), layout)

    def forward(i):
        return torch.nn.functional.conv_transpose3d(inputs[i % len(inputs)], weight, None, two, ONE).contiguous(
            memory_format=layout)

    def backward(i):
        return torch.ops.aten.convolution_backward(gradients[i % len(gradients)], inputs[i % len(inputs)], weight, None, two,
                                                   ONE, ONE, True, NONE, 1, [True, True, False])

    return median_ms(forward, rounds, warm=2), median_ms(backward, rounds, warm=2)


def upsampling(name, batch, channels, space, rounds):
    """Lines of both ways, and the ratio of their sums in NDHWC."""
    if not ON_A_CARD:
        batch, channels, space = 1, 8, (5, 6, 4)
    ratio = None
    for layout_name, layout in LAYOUTS.items():
        pair = pair_ms(batch, channels, space, layout, rounds)
        transposed = transposed_ms(batch, channels, space, layout, rounds)
        ratio = sum(transposed) / sum(pair)
        print(f"upsample {name:20} {'x'.join(map(str, space))} x{batch} {layout_name}  pair {pair[0]:.3f} + {pair[1]:.3f} ms, "
              f"transposed {transposed[0]:.3f} + {transposed[1]:.3f} ms, transposed / pair {ratio:.2f}", flush=True)
        if ON_A_CARD:
            torch.cuda.empty_cache()
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="layers whose name holds this")
    run = parser.parse_args()
    begun = time.monotonic()
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    for name, batch, channels, space in UPSAMPLINGS:  # what decides most comes first
        if not run.only or run.only in "upsampling":
            ratio = upsampling(name, batch, channels, space, run.rounds)
            print(f"figures: transposed / pair, {name}, NDHWC {ratio:.2f}", flush=True)
    left_out = []
    for layer in LAYERS:
        if run.only not in layer.name:
            continue
        if time.monotonic() - begun > run.seconds:
            left_out.append(layer.name)
            continue
        row_of(layer if ON_A_CARD else small(layer), run.rounds)
    if left_out:
        print("no time for: " + ", ".join(left_out))
    print(f"figures: {len(LAYERS) - len(left_out)} of {len(LAYERS)} layers", flush=True)


if __name__ == "__main__":
    sys.exit(main())
