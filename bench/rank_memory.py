"""What the processes of a run hold together when its ranks are threads of one process (dp), and when each is a process
(ddp): the proportional set size, in which what processes share counts once. The run trains on the CPU; each process is
asked for its memory again and again, and the largest sum of a run counts.

  python3 bench/rank_memory.py --program build/release/bin/larmor [--ranks 2] [--repeats 3] [--config tiny]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time


def proportional_bytes(process):
    """0 where it is gone."""
    try:
        lines = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except OSError:
        return 0


def children_of(process):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def steps_of(folder):
    events = folder / "events.jsonl"
    return events.read_text().count('"kind":"step"') if events.exists() else 0


def largest_sums(run, strategy, scratch):
    """Bytes of the ranks, and of these and the launcher, at the moment when the ranks hold the most."""
    folder = pathlib.Path(scratch) / strategy
    words = ["train", "latent_diffusion", "-c", run.config, "--ranks", run.ranks, f"parallel.strategy={strategy}",
             f"train.length={run.steps}st", f"train.global_batch={2 * run.ranks}", f"run.folder={scratch}",
             f"run.name={strategy}", "--quiet"]
    launcher = subprocess.Popen([str(word) for word in [run.program, *words]], stdout=subprocess.DEVNULL)
    most = {"processes": 0, "ranks": 0, "with_launcher": 0}
    while launcher.poll() is None:
        children = children_of(launcher.pid)
        held = sum(proportional_bytes(child) for child in children)
        # Before the first step a child may still be a copy of the launcher.
        if steps_of(folder) > 0 and held > most["ranks"]:
            most = {"processes": len(children), "ranks": held, "with_launcher": held + proportional_bytes(launcher.pid)}
        time.sleep(0.02)
    if launcher.returncode != 0 or most["ranks"] == 0:
        raise SystemExit(f"the run by {strategy} ended with {launcher.returncode}")
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--config", default="tiny", help="a config of latent_diffusion")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    run = parser.parse_args()
    run.program = run.program.resolve()
    held = {"dp": [], "ddp": []}
    for repeat in range(run.repeats):
        for strategy in held if repeat % 2 == 0 else reversed(held):
            with tempfile.TemporaryDirectory() as scratch:
                sums = largest_sums(run, strategy, scratch)
            held[strategy].append(sums["ranks"])
            print(json.dumps({"strategy": strategy, "repeat": repeat, **sums}), flush=True)
    medians = {strategy: statistics.median(sums) for strategy, sums in held.items()}
    print(json.dumps({"figure": f"Pss of {run.ranks} ranks, MB",
                      **{strategy: round(median / 1e6, 1) for strategy, median in medians.items()},
                      "dp_of_ddp": round(medians["dp"] / medians["ddp"], 3)}))


if __name__ == "__main__":
    main()
