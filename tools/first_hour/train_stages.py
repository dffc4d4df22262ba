#!/usr/bin/env python3
"""The tiny config of all nine stages, each on what the stages before it have trained, on a GPU.

    python3 train_stages.py exact|bf16|fp16|graphs|deterministic [--steps N] [--at-once N] [--folder FOLDER]

exact: in fp64 on a GPU and on the CPU with the same seed: what is recorded of each step agrees within 1e-9 of itself.
bf16, fp16, deterministic (in fp32): every loss is finite, and their mean lies within 5 % of fp64's, or their end below their beginning.
graphs: bf16 with train.graphs=auto: the same, which stages say that kernels are launched one by one, and how far the
losses are from those without graphs.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from guide_steps import larmor

STAGES = {"latent_diffusion": ("autoencoder", "diffusion"), "survival": ("risk",), "fast_ddpm": ("denoiser",),
          "xray_to_ct": ("stage1", "stage2", "stage3"), "xray_vqa": ("pretrain", "finetune")}
# The discriminator takes part early. At the config's rate survival's loss leaps by itself: four subjects are a batch.
OWN = {"latent_diffusion": ["autoencoder:loss.adversarial_start=2"], "survival": ["optim.learning_rate=1.0e-4"]}
NAMES = [f"{workload}-{stage}" for workload, stages in STAGES.items() for stage in stages]
WITHIN, NEAR = 1e-9, 0.05
BEHAVIOURS = {  # by side: device, words
    "cpu": ("cpu", ["train.precision=fp64"]),
    "exact": ("cuda", ["train.precision=fp64"]),
    "deterministic": ("cuda", ["train.precision=fp32", "run.deterministic=true"]),
    "bf16": ("cuda", ["train.precision=bf16"]),
    "fp16": ("cuda", ["train.precision=fp16"]),
    "graphs": ("cuda", ["train.precision=bf16", "train.graphs=auto"]),
}


def train(side, workload, run):
    """Trains a workload's stages in turn: (side, workload, status, what it said)."""
    device, words = BEHAVIOURS[side.split("-")[0]]
    own = OWN.get(workload, [])
    length = f"{run.steps}st"
    command = [*larmor(), "train", workload, "--stage", "all", "-c", "tiny", "--device", device, "--ranks", "1",
               "--threads", "2", "--no-color", f"train.length={length}", f"train.validate_every={length}",
               f"checkpoint.every={length}", "track.pictures_every=0", "plan.probe=false", f"run.folder={run.folder / side}",
               f"run.name={workload}", f"optim.schedule.warmup={run.steps // 2}st", *words, *own]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return side, workload, done.returncode, done.stdout


def values_of(run, side, name):
    """[{name: value}] of each step of a stage; [] where there is no run."""
    workload, stage = name.split("-")
    folders = [run.folder / side / f"{workload}-{stage}", run.folder / side / workload]
    file = next((folder / "events.jsonl" for folder in folders if (folder / "events.jsonl").exists()), None)
    if file is None:
        return []
    events = [json.loads(line) for line in file.read_text().splitlines()]
    return [{key: value for key, value in event["values"].items() if key.startswith(("train/", "optim/"))}
            for event in events if event["kind"] == "step"]


def losses_of(run, side, name):
    return [values.get("train/loss") for values in values_of(run, side, name)]


def furthest(ours, theirs):
    """The largest difference of two runs' values, each as a share of the value, and where it is."""
    worst, where = 0.0, ""
    for number, (mine, other) in enumerate(zip(ours, theirs), 1):
        for key, value in other.items():
            apart = abs(mine.get(key, math.nan) - value) / (1 + abs(value))
            if not apart <= worst:
                worst, where = apart, f"{key} of step {number}"
    return worst, where


def judge_exact(run, name):
    ours, theirs = values_of(run, "exact", name), values_of(run, run.reference, name)
    if len(ours) != run.steps or len(theirs) != run.steps:
        return False, f"{len(ours)} steps on the GPU, {len(theirs)} on the CPU"
    worst, where = furthest(ours, theirs)
    return worst <= WITHIN, f"{worst:.1e}" + (f" ({where})" if worst > WITHIN else "")


def judge_rounded(run, name):
    losses, exact = losses_of(run, run.what, name), losses_of(run, run.reference, name)
    if len(losses) != run.steps:
        return False, f"{len(losses)} steps"
    if not all(loss is not None and math.isfinite(loss) for loss in losses):
        return False, "not finite"
    few = max(1, run.steps // 4)
    end, beginning = statistics.mean(losses[-few:]), statistics.mean(losses[:few])
    words = f"{beginning:.4g} to {end:.4g}"
    if len(exact) == run.steps:
        mean, meant = statistics.mean(losses), statistics.mean(exact)
        words += f", mean {mean:.5g}, of fp64 {meant:.5g}"
        if abs(mean - meant) <= NEAR * abs(meant):
            return True, words
    return end < beginning, words


def judge_graphs(run, name):
    fine, words = judge_rounded(run, name)
    plain, with_graphs = values_of(run, "bf16", name), values_of(run, "graphs", name)
    if plain and len(plain) == len(with_graphs):
        words += ", from without {:.1e}".format(furthest(with_graphs, plain)[0])
    return fine, words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("exact", "bf16", "fp16", "graphs", "deterministic"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=5, help="processes")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "first-hour-runs")
    run = parser.parse_args()
    # Rows that run at the same time do not train the same reference.
    run.reference = "cpu" if run.what == "exact" or (run.folder / "cpu").exists() else f"cpu-{run.what}"
    sides = [run.what] if (run.folder / run.reference).exists() else [run.what, run.reference]
    # Stages of a chain wait for one another: the longest chain first.
    chains = [(side, workload) for workload in sorted(STAGES, key=lambda each: -len(STAGES[each])) for side in sides]
    with ThreadPoolExecutor(run.at_once) as pool:
        done = list(pool.map(lambda chain: train(*chain, run), chains))
    good = True
    for side, workload, status, said in done:
        print(f"--- {workload} on {side}: status {status}\n{said}" if status else f"--- {workload} on {side}: trained")
        good = good and status == 0
        singly = [line.strip() for line in said.splitlines() if "one by one" in line]
        if singly:
            print(said if run.what == "graphs" else "")
            print(f"figures: {workload} says: {singly[0][:160]}")
    judge = {"exact": judge_exact, "graphs": judge_graphs}.get(run.what, judge_rounded)
    passed = 0
    for name in NAMES:
        fine, words = judge(run, name)
        passed += fine
        print(f"{'' if fine else 'figures: '}{name} {'passes' if fine else 'FAILS'}: {words}")
    print(f"figures: {passed} of {len(NAMES)} stages", flush=True)
    return 0 if good and passed == len(NAMES) else 1


if __name__ == "__main__":
    sys.exit(main())
