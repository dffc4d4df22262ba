#!/usr/bin/env python3
"""What a step on a GPU is made of: the trace of `larmor bench step --profile` as a table by families of kernels.

    python3 trace_table.py TRACE.json[.gz] [--steps N] [--kernels N] [--host]

With --host also what the threads do that launch: each one's time by operators and calls of CUDA, without what these
call in turn, and every call in which it waits, with the operators around it.
"""

import argparse
import collections
import gzip
import json
import re
import tempfile
from pathlib import Path

# The first family whose pattern is found in a kernel's name takes it.
FAMILIES = [
    ("norm: measure", r"measure|merge_moments|make_channels"),
    ("norm: normalise", r"normalise"),
    ("norm: gradients", r"sum_gradients|merge_gradients|add_samples"),
    ("norm: differentiate", r"differentiate"),
    ("batch norm, token norm", r"batch_?norm|layer_?norm|token_norm|bn_fw|bn_bw"),
    ("attention", r"flash|fmha|attention|softmax"),
    ("layout", r"nchwToNhwc|nhwcToNchw|transpose|permute|tensorTransform"),
    ("convolution: weight gradient", r"wgrad"),
    ("convolution: data gradient", r"dgrad"),
    ("convolution: forward", r"fprop|conv|implicit|cudnn|xmma"),
    ("product of matrices", r"gemm|cublas|cutlass|splitK|gemv|nvjet"),
    ("optimizer", r"multi_tensor|adam|foreach|lpnorm"),
    ("sums", r"reduce|sum|mean"),
    ("random numbers", r"philox|random|draw|distribution|dropout|curand"),
    ("upsampling, pooling", r"upsample|pool"),
    ("projector", r"project|attenuat"),
    ("copies, casts, joins", r"copy|CatArray|Memcpy|Memset|fill"),
    ("by elements", r"elementwise|vectorized|unrolled|index|gather|scatter"),
]
PATTERNS = [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in FAMILIES]
ON_THE_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
ON_THE_HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
WAITS = re.compile(r"Synchronize|^cudaMemcpy$|^cudaMalloc|^cudaFree|^cudaHostAlloc|^cuMem|GetAttributes")


def family_of(kernel):
    return next((name for name, pattern in PATTERNS if pattern.search(kernel)), "other")


def events_of(path, kinds=ON_THE_DEVICE):
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8", errors="replace") as file:
        events = json.load(file)["traceEvents"]
    return [event for event in events if event.get("ph") == "X" and event.get("cat") in kinds]


def busy_and_gaps(events):
    """Microseconds in which a kernel runs, and in which none does between two."""
    busy = gaps = 0.0
    end = None
    for event in sorted(events, key=lambda event: event["ts"]):
        start, stop = event["ts"], event["ts"] + event["dur"]
        if end is None:
            end = start
        gaps += max(0.0, start - end)
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return busy, gaps


def table(events, steps, step_ms=None):
    """Lines: each family's time and launches a step, slowest first, then the sums."""
    spent, launches = collections.Counter(), collections.Counter()
    for event in events:
        name = family_of(event["name"])
        spent[name] += event["dur"]
        launches[name] += 1
    busy, gaps = busy_and_gaps(events)
    lines = [f"{'family':32} {'ms a step':>10} {'share':>7} {'launches':>9}"]
    for name, micros in spent.most_common():
        share = micros / max(busy, 1e-9)
        lines.append(f"{name:32} {micros / steps / 1000:10.3f} {share:7.1%} {launches[name] / steps:9.1f}")
    measured = f", without the profiler {step_ms:.2f}" if step_ms else ""
    lines.append(f"{'all':32} {sum(spent.values()) / steps / 1000:10.3f} {'':7} {len(events) / steps:9.1f}   "
                 f"busy {busy / steps / 1000:.2f} ms, gaps {gaps / steps / 1000:.2f} ms{measured}")
    return lines


def slowest(events, steps, count):
    """Lines: the kernels that take most of a step, by name."""
    spent, launches = collections.Counter(), collections.Counter()
    for event in events:
        spent[event["name"]] += event["dur"]
        launches[event["name"]] += 1
    return [f"{micros / steps / 1000:9.3f} ms {launches[name] / steps:7.1f} x  [{family_of(name)}] {name[:150]}"
            for name, micros in spent.most_common(count)]


def with_own_time(events):
    """(event, microseconds without those of what it calls, names of what it is called from) of one thread's events."""
    around, own = [], []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while around and around[-1][0]["ts"] + around[-1][0]["dur"] <= event["ts"]:
            around.pop()
        entry = [event, event["dur"], [outer[0]["name"] for outer in around]]
        if around:
            around[-1][1] -= event["dur"]
        own.append(entry)
        around.append(entry)
    return own


def host(events, steps, count=20):
    """Lines: what each thread that launches does, slowest first, and where it waits."""
    threads = collections.defaultdict(list)
    for event in events:
        threads[event["tid"]].append(event)
    lines = []
    for thread, of_thread in threads.items():
        launches = sum("Launch" in event["name"] for event in of_thread)
        if launches == 0:
            continue
        own = with_own_time(of_thread)
        spent, calls, waited = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        for event, micros, outer in own:
            spent[event["name"]] += micros
            calls[event["name"]] += 1
            if event["cat"].startswith("cuda") and WAITS.search(event["name"]):
                waited[" > ".join([*outer[-3:], event["name"]])].append(event["dur"])
        waits = sum(sum(micros) for micros in waited.values())
        works = sum(spent.values()) - waits
        lines.append(f"host: thread {thread}: {works / steps / 1000:.2f} ms a step of work, {waits / steps / 1000:.2f} ms in "
                     f"calls that may wait, {launches / steps:.0f} launches, {works / launches:.1f} us of work for each")
        lines += [f"{micros / steps / 1000:9.3f} ms {calls[name] / steps:8.1f} x  {micros / calls[name]:8.1f} us  {name[:110]}"
                  for name, micros in spent.most_common(count)]
        lines += [f"  may wait {sum(micros) / steps / 1000:9.3f} ms {len(micros) / steps:6.1f} x  longest {max(micros):.0f} us  {name[:150]}"
                  for name, micros in sorted(waited.items(), key=lambda item: -sum(item[1]))[:count // 2]]
    return lines


def show(path, steps, step_ms=None, kernels=25, with_host=False):
    if with_host:
        print("\n".join(host(events_of(path, ON_THE_HOST), steps)), flush=True)
    events = events_of(path)
    if not events:
        print(f"{path.name}: nothing ran on a GPU", flush=True)
        return
    print("\n".join(table(events, steps, step_ms) + slowest(events, steps, kernels)), flush=True)


def keep_packed(path):
    """A trace of a whole step has tens of megabytes, a tenth of that when packed."""
    with open(path, "rb") as whole, gzip.open(f"{path}.gz", "wb", compresslevel=5) as packed:
        packed.write(whole.read())
    path.unlink()


def self_test():
    """A trace of two steps: kernels one after the other, one beside another, and what is none of a GPU's."""
    def event(name, start, length, kind="kernel"):
        return {"ph": "X", "cat": kind, "name": name, "ts": start, "dur": length}

    events = [event("sm90_xmma_fprop_implicit_gemm_bf16", 0, 1000), event("sm90_xmma_wgrad_implicit", 1500, 500),
              event("void larmor::(anonymous namespace)::normalise<c10::BFloat16>", 1600, 300),
              event("aten::conv3d", 0, 9000, "cpu_op"), event("Memcpy DtoD (Device -> Device)", 2000, 200, "gpu_memcpy"),
              event("nobody_knows", 2300, 100)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps({"traceEvents": events + [{"ph": "f", "name": "flow"}]}))
        keep_packed(path)
        kept = events_of(Path(f"{path}.gz"))
    assert len(kept) == 5 and busy_and_gaps(kept) == (1800, 600), busy_and_gaps(kept)
    lines = table(kept, 2)
    found = {line[:32].strip(): line[32:].split() for line in lines}
    assert found["convolution: forward"][0] == "0.500" and found["convolution: weight gradient"][0] == "0.250", lines
    assert found["norm: normalise"][2] == "0.5" and found["other"][0] == "0.050" and "gaps 0.30 ms" in lines[-1], lines
    assert "xmma_fprop" in slowest(kept, 2, 1)[0]
    self_test_of_host(event)
    print("self-test passed")


def self_test_of_host(event):
    """Two steps of one thread: an operator within another, launches, a wait, and a thread that launches nothing."""
    events = [event("aten::add", 0, 100, "cpu_op"), event("cudaLaunchKernel", 20, 30, "cuda_runtime"),
              event("aten::item", 200, 1000, "cpu_op"), event("aten::_local_scalar_dense", 210, 900, "cpu_op"),
              event("cudaStreamSynchronize", 300, 800, "cuda_runtime"), event("cudaLaunchKernel", 1300, 10, "cuda_runtime")]
    for each in events:
        each["tid"] = 1
    lines = host([*events, {**event("aten::copy_", 0, 50, "cpu_op"), "tid": 2}], 2)
    assert "thread 1: 0.15 ms a step of work, 0.40 ms in calls that may wait, 1 launches, 155.0 us" in lines[0], lines[0]
    found = {line.split()[-1]: line.split()[0] for line in lines[1:] if "may wait" not in line}
    assert found["aten::add"] == "0.035" and found["cudaLaunchKernel"] == "0.020" and found["aten::item"] == "0.050", found
    assert "aten::item > aten::_local_scalar_dense > cudaStreamSynchronize" in lines[-1] and len(lines) == 7, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, nargs="?")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--steps", type=int, default=3, help="steps in the trace")
    parser.add_argument("--kernels", type=int, default=25, help="how many to name")
    parser.add_argument("--host", action="store_true", help="also what the threads do that launch")
    run = parser.parse_args()
    if run.self_test:
        return self_test()
    if run.trace is None:
        parser.error("which trace")
    show(run.trace, run.steps, kernels=run.kernels, with_host=run.host)


if __name__ == "__main__":
    main()
