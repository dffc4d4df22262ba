"""Times `larmor evaluate` of a survival cohort on two ranks of one thread, beside one process of two threads and beside
one of one thread, in turns: load that comes and goes meets all of them. Prints the medians and the ratios; the figures
of all calls have to be the same to the last digit.

  python3 bench/evaluate_ranks.py --program build/release/bin/larmor [--cases 180] [--turns 5]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

# Ranks and cores; the plan gives each rank as many threads as it has cores.
WAYS = {"two ranks of one thread": (2, 2), "one process of two threads": (1, 2), "one thread": (1, 1)}


def train(program, folder, cases):
    # All but a fifth are judged: 180 cases of 225.
    command = [program, "train", "survival", "-c", "cohort", f"run.folder={folder}", "run.name=cohort", "train.length=4st",
               "train.validate_every=0", "checkpoint.every=4st", f"data.cohort_cases={cases * 5 // 4}",
               "data.split={train: 0.2, val: 0.8, test: 0}", "--ranks", "1", "--quiet"]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return folder / "cohort"


def evaluate(program, run, ranks, cores):
    usable = sorted(os.sched_getaffinity(0))[:cores]
    command = [str(program), "evaluate", str(run), "--device", "cpu", "--ranks", str(ranks), "--json"]
    started = time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True, text=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, usable)).stdout
    return time.monotonic() - started, json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=180)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(options.program.resolve(), pathlib.Path(scratch), options.cases)
        seconds, figures = {way: [] for way in WAYS}, []
        for _ in range(options.turns):
            for way, (ranks, cores) in WAYS.items():
                took, said = evaluate(options.program.resolve(), run, ranks, cores)
                seconds[way].append(took)
                figures.append(said)
    for way, all_of_it in seconds.items():
        print(f"{way}: {statistics.median(all_of_it):.2f} s, all: {' '.join(f'{one:.2f}' for one in all_of_it)}")
    first, *others = seconds.values()
    for way, other in zip(list(WAYS)[1:], others):
        print(f"two ranks beside {way}: {statistics.median(b / a for a, b in zip(first, other)):.2f}x")
    print(f"{figures[0]['n']} cases; figures the same: {all(one == figures[0] for one in figures)}")


if __name__ == "__main__":
    main()
