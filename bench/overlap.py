"""What the exchange of gradients during backward is worth on a slow network: two ranks in network namespaces of
their own, joined by a shaped link, once with the plan's buckets and once with a single bucket, which can only
leave when backward is done. In turn, the order reversed every other time; the figure is the paired ratio
after / during (above 1: overlap wins) with a bootstrap 95 % interval, and an A/A pair.

  sudo python3 bench/overlap.py --program build/release/bin/larmor [--rate 500mbit] [--pairs 6]

Needs root (namespaces, tc) and two cores; takes everything away again at the end.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

from pairs import report

# A ResNet of 14 million weights with group norm, on images small enough that one core's arithmetic takes about
# as long as the exchange of its gradients.
MODEL = ["survival", "data.kind=cohort", "data.cohort_cases=24", "data.cohort_size=[48, 48, 32]",
         "data.split.val=0.2", "data.split.test=0",
         "data.transforms=[{ScaleIntensityRange: {a_min: -1000, a_max: 1000, b_min: 0, b_max: 1}}]",
         "model.depth=10", "model.norm=group", "train.global_batch=4", "optim.name=adam", "optim.weight_decay=0",
         "optim.clip_norm=0", "train.precision=fp32"]
NAMES = [f"larmor-overlap-{os.getpid()}-{rank}" for rank in range(2)]
ADDRESSES = ["10.251.77.1", "10.251.77.2"]


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def build_network(rate):
    for name in NAMES:
        run("ip", "netns", "add", name)
    run("ip", "link", "add", "veth0", "netns", NAMES[0], "type", "veth", "peer", "name", "veth1", "netns", NAMES[1])
    for rank, name in enumerate(NAMES):
        device = f"veth{rank}"
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "address", "add", f"{ADDRESSES[rank]}/24", "dev", device)
        run("ip", "-n", name, "link", "set", device, "up")
        # Without a small burst, short messages would pass unshaped.
        run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "64kb",
            "latency", "50ms")


def remove_network():
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def ranks(cores, port, command):
    """Runs one rank a namespace and gives the last line of rank 0, which is one JSON document."""
    processes = []
    try:
        for rank, name in enumerate(NAMES):
            variables = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
                         "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
            processes.append(subprocess.Popen(
                ["ip", "netns", "exec", name, "taskset", "-c", str(cores[rank]),
                 "env", *[f"{key}={value}" for key, value in variables.items()], *[str(word) for word in command]],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        ends = [process.communicate() for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, ends):
        if process.returncode != 0:
            raise RuntimeError(errors)
    return json.loads(ends[0][0].strip().splitlines()[-1])


def plans(program, folder):
    """The plan for two ranks, and the same with all gradients in one bucket."""
    out = subprocess.run([program, "plan", *MODEL, "parallel.ranks=2", "parallel.device=cpu", "--json"],
                         capture_output=True, text=True, check=True).stdout
    plan = json.loads(out)
    plan["threads_per_rank"] = 1
    for place in plan["ranks"]:
        place["cores"] = []
    one_bucket = {**plan, "bucket_bytes": 1 << 40}
    paths = {}
    for name, content in (("during", plan), ("after", one_bucket)):
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(content))
    return plan, paths


def measure(run_arguments, folder):
    plan, paths = plans(run_arguments.program, folder)
    print(json.dumps({"bucket_bytes": plan["bucket_bytes"], "micro_batch": plan["micro_batch"],
                      "rate": run_arguments.rate}), flush=True)
    cores = sorted(os.sched_getaffinity(0))[:2]
    port = 29500

    def step(mode):
        nonlocal port
        port += 1
        line = ranks(cores, port, [run_arguments.program, "bench", "step", *MODEL, "--plan", paths[mode],
                                   "--blocks", run_arguments.blocks, "--steps", run_arguments.steps, "--warmup", 2])
        return line["result"]["larmor"]

    against_after, against_itself, exposed = [], [], {"during": [], "after": []}
    for pair in range(run_arguments.pairs):
        order = ["during", "after"] if pair % 2 == 0 else ["after", "during"]
        measured = {mode: step(mode) for mode in order}
        again = step("during") if pair % 2 == 0 else None
        against_after.append(measured["after"]["median_ms"] / measured["during"]["median_ms"])
        if again:
            against_itself.append(again["median_ms"] / measured["during"]["median_ms"])
        for mode in exposed:
            exposed[mode].append(round(measured[mode]["exposed_communication"], 3))
        print(json.dumps({"pair": pair, **{mode: {key: round(measured[mode][key], 3) for key in
                                                  ("median_ms", "min_ms", "exposed_communication")}
                                           for mode in order}}), flush=True)
    print(json.dumps({"exposed_communication": exposed}), flush=True)
    report(f"exchange after backward / during it, {run_arguments.rate}", against_after)
    report("A/A, during / during", against_itself)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--rate", default="500mbit", help="of the link, as tc writes it")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1)
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        try:
            build_network(arguments.rate)
            measure(arguments, pathlib.Path(folder))
        finally:
            remove_network()


if __name__ == "__main__":
    main()
