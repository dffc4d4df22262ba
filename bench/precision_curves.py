"""Trains the same runs in fp32 and in bf16, a few seeds each, and prints whether the curves of the validation loss are
further apart than seeds are: at each validation the mean over seeds of bf16 minus fp32 beside the spread of fp32 over
seeds. A seed starts from the same weights and reads the same examples in both precisions.

  python3 bench/precision_curves.py --program build/release/bin/larmor [--seeds 0,1,2] [--run "latent_diffusion -c phantom"] \\
      [--metric val/loss] [key=value ...]
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

PRECISIONS = ("fp32", "bf16")


def curve(options, precision, seed):
    """[(step, value)] of a run's validations."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.program, "train", *options.run.split(), f"run.folder={folder}", "run.name=run", f"run.seed={seed}",
                   f"train.precision={precision}", "track.pictures_every=0", "--ranks", "1", "--quiet", *options.changes]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        lines = (pathlib.Path(folder) / "run" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [(event["step"], event["values"][options.metric]) for event in events if event["kind"] == "validation"]


def compare(curves):
    """One row a validation."""
    rows = []
    for points in zip(*curves["fp32"], *curves["bf16"]):
        steps = {step for step, _ in points}
        if len(steps) != 1:
            raise SystemExit(f"validations of the runs are at different steps: {sorted(steps)}")
        seeds = len(curves["fp32"])
        full, half = ([value for _, value in part] for part in (points[:seeds], points[seeds:]))
        apart = [b - a for a, b in zip(full, half)]
        spread = statistics.stdev(full)
        rows.append({"step": steps.pop(), "fp32": round(statistics.mean(full), 5), "bf16": round(statistics.mean(half), 5),
                     "difference": round(statistics.mean(apart), 5),
                     "standard_error": round(statistics.stdev(apart) / math.sqrt(seeds), 5), "spread_of_seeds": round(spread, 5),
                     "within": abs(statistics.mean(apart)) <= spread})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--run", default="latent_diffusion -c phantom", help="what `larmor train` is told first")
    parser.add_argument("--metric", default="val/loss")
    parser.add_argument("changes", nargs="*", help="keys of the config")
    options = parser.parse_args()
    seeds = options.seeds.split(",")
    if len(seeds) < 2:
        parser.error("name two seeds or more: how far seeds are apart is what the difference is held against")
    curves = {precision: [] for precision in PRECISIONS}
    for seed in seeds:
        for precision in PRECISIONS:
            curves[precision].append(curve(options, precision, seed))
    rows = compare(curves)
    for row in rows:
        print(json.dumps(row), flush=True)
    inside = sum(row["within"] for row in rows)
    print(f"{options.run}: {inside} of {len(rows)} validations with bf16 no further from fp32 than seeds are from each other")


if __name__ == "__main__":
    main()
