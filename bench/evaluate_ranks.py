"""Times `larmor evaluate` of a survival cohort on two ranks of one thread, beside one process of two threads and beside
one of one thread, in turns: load that comes and goes meets all of them. Prints the medians and the ratios; the figures
of all calls have to be the same to the last digit. Two calls of one thread each that know nothing of each other, side
by side, show what the machine itself gives for a second core: no sharing out can be faster than that.

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


def start(program, run, ranks, cores):
    command = [str(program), "evaluate", str(run), "--device", "cpu", "--ranks", str(ranks), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, cores))


def figures_of(call):
    out = call.communicate()[0]
    if call.returncode != 0:
        raise SystemExit(f"larmor evaluate ended with status {call.returncode}")
    return json.loads(out)


def evaluate(program, run, ranks, cores):
    started = time.monotonic()
    said = figures_of(start(program, run, ranks, sorted(os.sched_getaffinity(0))[:cores]))
    return time.monotonic() - started, said


def evaluate_twice(program, run):
    """Seconds until both of two calls of one thread have ended, each on a core of its own."""
    started = time.monotonic()
    for call in [start(program, run, 1, [core]) for core in sorted(os.sched_getaffinity(0))[:2]]:
        figures_of(call)
    return time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=180)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(options.program.resolve(), pathlib.Path(scratch), options.cases)
        seconds, figures, twice = {way: [] for way in WAYS}, [], []
        for _ in range(options.turns):
            for way, (ranks, cores) in WAYS.items():
                took, said = evaluate(options.program.resolve(), run, ranks, cores)
                seconds[way].append(took)
                figures.append(said)
            twice.append(evaluate_twice(options.program.resolve(), run))
    for way, all_of_it in seconds.items():
        print(f"{way}: {statistics.median(all_of_it):.2f} s, all: {' '.join(f'{one:.2f}' for one in all_of_it)}")
    first, *others = seconds.values()
    for way, other in zip(list(WAYS)[1:], others):
        print(f"two ranks beside {way}: {statistics.median(b / a for a, b in zip(first, other)):.2f}x")
    alone = seconds["one thread"]
    print(f"two calls of one thread side by side, beside one after the other: "
          f"{statistics.median(2 * b / a for a, b in zip(twice, alone)):.2f}x")
    print(f"{figures[0]['n']} cases; figures the same: {all(one == figures[0] for one in figures)}")


if __name__ == "__main__":
    main()
