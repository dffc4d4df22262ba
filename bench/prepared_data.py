"""What training from the prepared cache costs, on real heads: a crop from it beside the uncached chain, a step beside
the same step with its batch in memory, and how much memory four ranks have for one cache.

  python3 bench/prepared_data.py --program build/release/bin/larmor --data HEADS [--pairs 5] [--figures crop,step,memory]
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from pairs import last_json, report

LESIONS = 'data.exclude=["*lesion*", "*seg*"]'
ONE_CORE = ["taskset", "-c", "0", "env", "OMP_NUM_THREADS=1"]
# The random crop comes last, so all before it is kept.
CHAIN = ("[{Orientation: {axcodes: RAS}}, {Spacing: {pixdim: [1.1, 1.1, 1.1]}}, "
         "{ScaleIntensityRangePercentiles: {lower: 0, upper: 99.5, b_min: 0, b_max: 1}}, "
         "{RandSpatialCrop: {roi_size: [64, 64, 64]}}]")


def crop(run):
    """A random crop of 64 voxels an axis."""
    def sample(cache):
        return last_json([*ONE_CORE, run.program, "bench", "loader", "latent_diffusion", "-c", "tutorial_32g",
                          f"data.folder={run.data}", LESIONS, f"data.transforms={CHAIN}", f"data.cache={cache}",
                          f"data.cache_folder={run.scratch}/crops", "--repeats", 3, "--workers", 1,
                          "--quiet"])["mean_ms_per_sample"][cache]

    ratios = []
    for pair in range(run.pairs):
        order = ["none", "full"] if pair % 2 == 0 else ["full", "none"]
        milliseconds = {cache: sample(cache) for cache in order}
        ratios.append(milliseconds["none"] / milliseconds["full"])
        print(json.dumps({"figure": "crop", "pair": pair, "ms": milliseconds}), flush=True)
    report("random crop of 64 cubed, one core: uncached chain / prepared cache", ratios)


def brain(run, name, batch=2):
    return ["latent_diffusion", "-c", "brain", f"data.folder={run.data}", f"data.cache_folder={run.scratch}/brain",
            "data.split={val: [tcga_fg_6692, cstar_stroke], test: 0}",
            "train.micro_batch=2", f"train.global_batch={batch}", f"run.folder={run.scratch}", f"run.name={name}"]


def step_times(folder):
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [event["values"]["perf/step_ms"] for event in events if event["kind"] == "step"]


def train(run, name, *more):
    subprocess.run([str(word) for word in [run.program, "train", *brain(run, name), *more, "--quiet"]], check=True,
                   stdout=subprocess.DEVNULL)


def step(run):
    """A step of a training run from the prepared cache."""
    train(run, "fill", "--ranks", 1, "train.length=2st", "train.validate_every=0")
    subprocess.run([str(word) for word in [run.program, "prepare", *brain(run, "fill")]], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ratios = []
    for pair in range(run.pairs):
        def trained():
            name = f"step{pair}"
            train(run, name, "--ranks", 1, "train.length=14st", "train.validate_every=0")
            return statistics.median(step_times(run.scratch / name)[4:])

        def in_memory():
            result = last_json([run.program, "bench", "step", *brain(run, "bench"), "--blocks", 10, "--steps", 1,
                                "--warmup", 4])["result"]["larmor"]
            return result["median_ms"]

        order = [trained, in_memory] if pair % 2 == 0 else [in_memory, trained]
        milliseconds = {function.__name__: function() for function in order}
        ratios.append(milliseconds["trained"] / milliseconds["in_memory"])
        print(json.dumps({"figure": "step", "pair": pair, "ms": milliseconds}), flush=True)
    report("step of the small autoencoder: from prepared data / its batch in memory", ratios)


def processes_with(folder):
    """{process: bytes of its proportional share of the mapped entries}, of the processes that map some."""
    shares = {}
    for maps in pathlib.Path("/proc").glob("[0-9]*/smaps"):
        share, is_entry = 0, False
        try:
            for line in maps.read_text().splitlines():
                words = line.split()
                if "-" in words[0] and not words[0].endswith(":"):
                    is_entry = line.endswith(".entry") and str(folder) in line
                elif is_entry and words[0] == "Pss:":
                    share += int(words[1]) * 1024
        except (OSError, UnicodeDecodeError):
            continue  # gone, or somebody else's
        if share:
            shares[maps.parent.name] = share
    return shares


def memory(run):
    """The proportional set size of the cache's mapping, summed over four ranks, against the bytes of the cache."""
    subprocess.run([str(word) for word in [run.program, "prepare", *brain(run, "fill")]], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    command = [run.program, "train", *brain(run, "memory", batch=8), "--ranks", 4, "train.length=40st",
               "train.validate_every=20st", "--quiet"]
    largest, ranks = 0, 0
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL) as training:
        while training.poll() is None:
            shares = processes_with(run.scratch / "brain")
            if len(shares) >= ranks and sum(shares.values()) >= largest:
                largest, ranks = sum(shares.values()), len(shares)
            time.sleep(0.2)
    if training.returncode != 0:
        raise SystemExit("the training run failed")
    cache = sum(entry.stat().st_size for entry in (run.scratch / "brain").rglob("*.entry"))
    print(json.dumps({"figure": "memory of four ranks for one cache", "ranks": ranks, "pss_bytes": largest,
                      "cache_bytes": cache, "ratio": round(largest / cache, 4)}), flush=True)


FIGURES = {"crop": crop, "step": step, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path, help="folder of real heads")
    parser.add_argument("--figures", default=",".join(FIGURES), help="which of " + ", ".join(FIGURES))
    parser.add_argument("--pairs", type=int, default=5)
    run = parser.parse_args()
    run.program, run.data = run.program.resolve(), run.data.resolve()
    run.scratch = pathlib.Path(tempfile.mkdtemp())
    try:
        for name in run.figures.split(","):
            FIGURES[name](run)
    finally:
        shutil.rmtree(run.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
