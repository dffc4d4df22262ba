"""What the Python rows share: the device, its limits, and times by events. CARD=none is a rehearsal on a CPU."""

import os
import statistics
import time

import torch

ON_A_CARD = os.environ.get("CARD", "") != "none"
DEVICE = torch.device("cuda" if ON_A_CARD else "cpu")
BEYOND_CACHE = 200 << 20 if ON_A_CARD else 1 << 16  # bytes: inputs take turns until they are more than an L2 holds
# Of an H100 SXM; a floor is the larger of its two times.
TFLOPS, TERABYTES = 800.0, 3.0


def synchronize():
    if ON_A_CARD:
        torch.cuda.synchronize()


def median_ms(work, rounds, warm=1):
    """The median of `rounds` calls of work(i), each between two events."""
    for i in range(warm):
        work(i)
    synchronize()
    if not ON_A_CARD:
        times = []
        for i in range(rounds):
            begun = time.perf_counter()
            work(i)
            times.append((time.perf_counter() - begun) * 1e3)
        return statistics.median(times)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2 * rounds)]
    for i in range(rounds):
        marks[2 * i].record()
        work(i)
        marks[2 * i + 1].record()
    torch.cuda.synchronize()
    return statistics.median(marks[2 * i].elapsed_time(marks[2 * i + 1]) for i in range(rounds))


def extra_mib(work):
    """(what work() gives, MiB that the allocator held for it at most beside what was there and what it gives)."""
    if not ON_A_CARD:
        return work(), 0.0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    given = work()
    torch.cuda.synchronize()
    kept = torch.cuda.memory_allocated() - before
    return given, max(0, torch.cuda.max_memory_allocated() - before - kept) / 2**20
