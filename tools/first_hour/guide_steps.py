"""Training steps at the guides' sizes: what `larmor bench step` is asked for, and what is read from its line.

    python3 guide_steps.py NAME [--profile FILE [--host]] [--folder FOLDER] [key=value…]     times one step of ours
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import trace_table

SPLIT = "data.split={train: 0.75, val: 0.25, test: 0}"
BRAIN = ["data.kind=phantom", "data.phantom_cases=8", SPLIT]
TO_SIGNED = "data.transforms=[{ScaleIntensityRange: {a_min: 0, a_max: 1, b_min: -1, b_max: 1}}]"
LATENTS = "[144, 176, 112]"  # voxels of which the latents are 36 x 44 x 28
CASCADE = ["data.kind=phantom", "data.phantom_cases=24", SPLIT]
RADIOGRAPHS = ["xray_vqa", "--stage", "pretrain", "data.kind=phantom", "data.phantom_cases=24", "data.phantom_questions=4",
               SPLIT]
AUTOENCODER = ["latent_diffusion", "-c", "tutorial_32g", *BRAIN, "data.phantom_size=[112, 128, 80]", "data.transforms=[]"]
DIFFUSION = ["latent_diffusion", "--stage", "diffusion", "-c", "tutorial_32g", *BRAIN, f"data.phantom_size={LATENTS}",
             f"data.transforms=[{{CenterSpatialCrop: {{roi_size: {LATENTS}}}}}]", "model.latents=kept"]

# name: words, micro-batch
STEPS = {
    "autoencoder": ([*AUTOENCODER, "loss.adversarial_start=0"], 2),
    "autoencoder_alone": ([*AUTOENCODER, "loss.adversarial_weight=0"], 2),
    "fast_ddpm": (["fast_ddpm", "data.kind=phantom", "data.modalities=null", "data.phantom_cases=8", SPLIT,
                   "data.phantom_size=[128, 128, 128]", TO_SIGNED], 1),
    "diffusion": (DIFFUSION, 3),
    "resnet": (["survival", "data.kind=cohort", "data.cohort_cases=24", "data.cohort_size=[256, 256, 64]",
                "data.transforms=[]", "model.depth=50", SPLIT], 6),
    "cascade1": (["xray_to_ct", "--stage", "stage1", *CASCADE], 8),
    "cascade2": (["xray_to_ct", "--stage", "stage2", *CASCADE], 4),
    "vqa": (RADIOGRAPHS, 16),
}
# What a network's step builds on: runs of one step of its tiny config, trained on the CPU beside other rows.
EARLIER = {"diffusion": ("from.autoencoder", ["latent_diffusion", "-c", "tiny", *BRAIN, f"data.phantom_size={LATENTS}",
                                              "model.channels=[8, 8, 8]", "model.num_res_blocks=[1, 1, 1]",
                                              "model.latent_channels=8", "model.attention_levels=[false, false, false]",
                                              "model.norm_num_groups=8"]),
           "cascade2": ("from.stage1", ["xray_to_ct", "-c", "tiny"])}


def larmor():
    """The program as a list of words: LARMOR is one path, or a command before it."""
    return os.environ["LARMOR"].split()


def earlier_run(name, folder):
    """`from.E=RUN` of what the network builds on, or nothing."""
    if name not in EARLIER:
        return []
    key, words = EARLIER[name]
    run = folder / f"before-{name}"
    if not run.exists():
        subprocess.run([*larmor(), "train", *words, "--device", "cpu", "train.length=1st", "train.validate_every=1st",
                        "train.precision=fp32", "optim.schedule={name: constant}", "track.pictures_every=0",
                        f"run.folder={folder}", f"run.name={run.name}", "--quiet"], check=True, stdout=sys.stderr)
    return [f"{key}={run}"]


def command(name, folder, more=(), blocks=4, steps=3, warmup=6):
    """What times the step of one network on one GPU in bf16. A key in `more` replaces ours: a key is given once."""
    words, batch = STEPS[name]
    words = [*words, *earlier_run(name, folder), "train.precision=bf16", "train.accumulation=1",
             f"train.micro_batch={batch}", f"train.global_batch={batch}", "optim.ema_decay=0"]
    replaced = {word.split("=")[0] for word in more}
    return [*larmor(), "bench", "step", *[word for word in words if word.split("=")[0] not in replaced], *more,
            "--device", "cuda", "--ranks", "1", "--blocks", blocks, "--steps", steps, "--warmup", warmup, "--json"]


def timed(words):
    """The one line of `bench step`. Its words for people go on to the log."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"larmor bench step ended with {done.returncode}")
    print(done.stdout.strip(), flush=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def sentence(name, line):
    result, memory = line["result"]["larmor"], line.get("memory") or {}
    roofline = result.get("roofline", {})
    planned = memory.get("planned_mib", 0) + memory.get("batches_mib", 0)
    peak = memory.get("peak_mib", 0)
    return (f"{name} {result['median_ms']:.1f} ms (min {result['min_ms']:.1f}), first step {result['first_step_s']:.1f} s, "
            f"{roofline.get('gflop_per_s', 0) / 1000:.0f} TFLOP/s, loss {result['loss_after']:.4g}, peak {peak:.0f} MiB, "
            f"reserved {memory.get('reserved_mib', 0):.0f}, planned with batches {planned:.0f}"
            + (f" ({(peak / planned - 1) * 100:+.1f} %)" if planned else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=STEPS)
    parser.add_argument("--profile", type=Path, help="a trace of more steps, and its table by kernels' families")
    parser.add_argument("--host", action="store_true", help="of that trace also what the threads do that launch")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="of runs that a network builds on")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=6)
    run, more = parser.parse_known_args()
    words = command(run.name, run.folder, more, run.blocks, run.steps, run.warmup)
    if run.profile:
        words += ["--profile", run.profile]
    line = timed(words)
    if run.profile:
        trace_table.show(run.profile, run.steps, line["result"]["larmor"]["median_ms"], with_host=run.host)
        trace_table.keep_packed(run.profile)
    print("figures: " + sentence(" ".join([run.name, *[word for word in more if "layout" in word or "graphs" in word]]), line), flush=True)


if __name__ == "__main__":
    main()
