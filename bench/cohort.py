"""Trains survival on the invented cohort, whose hazard is known, with several seeds, and prints how near the
validation C-index comes to that of the truth.

  python3 bench/cohort.py --program build/release/bin/larmor [--seeds 0,1,2] [--ranks 2]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time


def words(command):
    return [str(word) for word in command]


def one(run, seed):
    folder = pathlib.Path(tempfile.mkdtemp())
    started = time.monotonic()
    subprocess.run(words([run.program, "train", "survival", "-c", "cohort", f"data.seed={seed}", f"run.seed={seed}",
                          f"run.folder={folder}", "run.name=cohort", "--ranks", run.ranks, "--quiet"]),
                   check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    report = json.loads(subprocess.run(words([run.program, "evaluate", folder / "cohort", "--json"]), check=True,
                                       capture_output=True, text=True).stdout)
    of_model, of_truth = report["c_index"]["mean"], report["c_index_of_truth"]["mean"]
    return {"seed": seed, "seconds": round(seconds), "cases": report["n"], "c_index": round(of_model, 4),
            "c_index_of_truth": round(of_truth, 4), "share": round(of_model / of_truth, 4),
            "auc": round(report["auc"]["mean"], 4), "ibs": round(report["ibs"]["mean"], 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--ranks", type=int, default=2)
    run = parser.parse_args()
    run.program = run.program.resolve()
    rows = []
    for seed in run.seeds.split(","):
        rows.append(one(run, int(seed)))
        print(json.dumps(rows[-1]), flush=True)
    print(json.dumps({"median_share": statistics.median(row["share"] for row in rows)}))


if __name__ == "__main__":
    main()
