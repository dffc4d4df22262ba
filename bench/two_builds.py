"""Times two builds of Larmor in turn, in one run, and prints the ratios of their times with their noise: what a change
costs. Below 1 the new build is quicker.

  python3 bench/two_builds.py --old OLD/bin/larmor --new NEW/bin/larmor --data DATA [--pairs 8] [--figures step,load,series,start,predict]

DATA holds the folders `brain` (heads as NIfTI) and `dicom` (a series). A pair is one short process of each, the order
reversed every other time; the old build runs once more, and its ratio to itself shows what the machine alone does.
"""
import argparse
import functools
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

from pairs import last_json, report
from side_by_side import ONE_CORE, SMALL_AUTOENCODER, seconds_to_first_step

SERIES = "papaya_mr_pd_series"


def step(program, run):
    """One training step of the small autoencoder, milliseconds."""
    return last_json([program, "bench", "step", *SMALL_AUTOENCODER, "--threads", 2, "--blocks", 3, "--steps", 2,
                      "--warmup", 2])["result"]["larmor"]["min_ms"]


def read(program, words):
    return last_json([*ONE_CORE, program, "bench", "loader", "latent_diffusion", "-c", "tutorial_32g", *words,
                      "--workers", 1, "--quiet"])["mean_ms_per_volume"]["load"]


def load(program, run):
    """Real heads from file to voxels, milliseconds a volume on one core."""
    return read(program, [f"data.folder={run.data / 'brain'}", 'data.exclude=["*lesion*", "*seg*"]', "--repeats", 2])


def series(program, run):
    """A DICOM series from its files to voxels, milliseconds on one core."""
    return read(program, ["data.kind=dicom", f"data.folder={run.data / 'dicom' / SERIES}", "data.split.by=file",
                          "--repeats", 20])


def start(program, run):
    """From the command to the first step line of `tiny` on one CPU rank, milliseconds."""
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        return 1000 * seconds_to_first_step(program, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def small_run(program):
    """An autoencoder after two steps, in a folder that is left to the system."""
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run([program, "train", "latent_diffusion", "-c", "tiny", "--device", "cpu", "train.length=2st", "optim.schedule.warmup=0", f"run.folder={folder}",
                    "run.name=run", "--no-check", "--quiet"], check=True, capture_output=True)
    return folder / "run"


def predict(program, run):
    """A call of `predict` over the T1 images of all real heads, milliseconds."""
    inputs = [word for head in sorted(run.data.glob("brain/*/*_t1.nii.gz")) for word in ("--input", head)]
    trained = small_run(run.old)
    with tempfile.TemporaryDirectory() as output:
        began = time.monotonic()
        subprocess.run([program, "predict", trained, "--device", "cpu", *inputs, "--output", f"{output}/", "--quiet"], check=True,
                       capture_output=True)
        return 1000 * (time.monotonic() - began)


FIGURES = {"step": step, "load": load, "series": series, "start": start, "predict": predict}


def compare_builds(name, measure, run):
    changed, unchanged = [], []
    for pair in range(run.pairs):
        order = [run.old, run.new] if pair % 2 == 0 else [run.new, run.old]
        took = {program: measure(program, run) for program in order}
        again = measure(run.old, run)
        changed.append(took[run.new] / took[run.old])
        unchanged.append(again / took[run.old])
        print(json.dumps({"figure": name, "pair": pair, "old_ms": took[run.old], "new_ms": took[run.new],
                          "old_again_ms": again}), flush=True)
    report(f"{name}: new / old", changed)
    report(f"{name}: A/A, old / old", unchanged)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=pathlib.Path, required=True)
    parser.add_argument("--new", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--figures", default=",".join(FIGURES))
    run = parser.parse_args()
    began = time.monotonic()
    for name in run.figures.split(","):
        compare_builds(name, FIGURES[name], run)
    print(json.dumps({"seconds": round(time.monotonic() - began)}), flush=True)


if __name__ == "__main__":
    main()
