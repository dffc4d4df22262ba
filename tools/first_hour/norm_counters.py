#!/usr/bin/env python3
"""The norms of a step of ours under ncu: for each kernel and size time, TB/s, registers, what warps wait for.

    python3 norm_counters.py [--launches 160] [--read FILE.csv] [words of guide_steps.py…]

Clocks are left as they are. Where the counters are not granted to the user (ERR_NVGPUCTRPERM) that is said.
"""

import argparse
import collections
import csv
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = "measure|normalise|sum_gradients|differentiate"  # larmor/kernels/norms/group_norm_silu_cuda.cu
TIME, READ, WRITTEN = "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"
REGISTERS, ACTIVE = "launch__registers_per_thread", "sm__warps_active.avg.pct_of_peak_sustained_active"
STALLS = {name: f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"
          for name in ("long_scoreboard", "lg_throttle", "math_pipe_throttle", "wait", "not_selected", "barrier")}
METRICS = [TIME, READ, WRITTEN, REGISTERS, ACTIVE, *STALLS.values()]
SCALES = {"nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1, "s": 1,
          "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def number(row, units, metric):
    return float(row[metric].replace(",", "")) * SCALES.get(units.get(metric, ""), 1)


def launches_in(text):
    """Rows of ncu's raw page: (kernel, grid) and the metrics, in seconds and bytes."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    units, rows = rows[0], rows[1:]
    found = [(re.search(KERNELS, row["Kernel Name"]), row) for row in rows]
    return [(kernel.group(), row.get("Grid Size", ""),
             {metric: number(row, units, metric) for metric in METRICS if row.get(metric)}) for kernel, row in found if kernel]


def table(launches):
    by_kernel = collections.defaultdict(list)
    for kernel, grid, values in launches:
        by_kernel[kernel, grid].append(values)
    lines = []
    for (kernel, grid), all_values in sorted(by_kernel.items(), key=lambda each: -sum(v[TIME] for v in each[1])):
        middle = {metric: statistics.median(values.get(metric, 0) for values in all_values) for metric in METRICS}
        rate = (middle[READ] + middle[WRITTEN]) / middle[TIME] / 1e12
        stalls = ", ".join(f"{name} {middle[metric]:.1f}" for name, metric in STALLS.items())
        lines.append(f"{kernel:16} {grid:20} {len(all_values):4} x {middle[TIME] * 1e6:8.1f} us {rate:5.2f} TB/s, "
                     f"{middle[REGISTERS]:.0f} registers, {middle[ACTIVE]:.0f} % of warps; {stalls}")
    return lines


def rates(launches):
    """Of each kernel, over all its launches."""
    bytes_moved, seconds = collections.Counter(), collections.Counter()
    for kernel, _, values in launches:
        bytes_moved[kernel] += values[READ] + values[WRITTEN]
        seconds[kernel] += values[TIME]
    return ", ".join(f"{kernel} {bytes_moved[kernel] / seconds[kernel] / 1e12:.2f} TB/s" for kernel in seconds)


WRITTEN_BY_NCU = """==PROF== Connected to process 1
"ID","Kernel Name","Grid Size","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum"
"","","","Mbyte","Mbyte","usecond"
"0","void larmor::(anonymous namespace)::measure<c10::BFloat16>(Tiles, const T1 *)","(256, 2, 2)","300.00","0","200.0"
"1","normalise","(256, 2, 2)","1,000.00","1,000.00","1,000.0"
"2","somebody_elses","(1, 1, 1)","1.00","1.00","1.0"
"""


def self_test():
    """What ncu writes, thousands with commas and kernels with templates among it."""
    launches = launches_in(WRITTEN_BY_NCU)
    assert [kernel for kernel, _, _ in launches] == ["measure", "normalise"], launches
    assert rates(launches) == "measure 1.50 TB/s, normalise 2.00 TB/s", rates(launches)
    assert "1000.0 us  2.00 TB/s" in table(launches)[0], table(launches)
    assert launches_in("==ERROR== ERR_NVGPUCTRPERM") == []
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=160)
    parser.add_argument("--read", type=Path, help="what ncu has written already")
    parser.add_argument("--self-test", action="store_true")
    run, words = parser.parse_known_args()
    if run.self_test:
        return self_test()
    if run.read:
        text = run.read.read_text()
    else:
        log = Path(tempfile.mkdtemp()) / "ncu.csv"
        ncu = ["ncu", "--target-processes", "all", "--clock-control", "none", "--metrics", ",".join(METRICS), "--csv",
               "--page", "raw", "--log-file", str(log), "-k", f"regex:{KERNELS}", "--launch-count", str(run.launches)]
        status = subprocess.run([*ncu, sys.executable, "-B", str(Path(__file__).with_name("guide_steps.py")),
                                 *words]).returncode
        text = log.read_text(errors="replace") if log.exists() else ""
        print(text[-3000:] if status else "", f"ncu ended with {status}")
    launches = launches_in(text)
    if not launches:
        said = next((line for line in text.splitlines() if "ERR" in line or "==ERROR==" in line), "nothing was measured")
        print(f"figures: {said[:160]}")
        return 1
    print("\n".join(table(launches)))
    print(f"figures: {rates(launches)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
