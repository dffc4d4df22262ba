"""What a training step on CPUs takes where other programs use the same cores, and where they do not, all in turn in one
run, because what else a machine does comes and goes.

  python3 bench/busy_cores.py --program build/release/bin/larmor [--busy 6] [--rounds 6] [--pairs 12]

busy: beside so many processes that compute without end, what the plan chooses, one thread, two ranks of one thread, and
what the plan chose before it asked who else is there: all cores, and libgomp's own spin. The ratio is of examples a
second: the better of one thread and two ranks over the plan's choice.
quiet: beside nothing that this script has started, what the plan chose before over what it chooses now (above 1: now is
quicker), the spins alone, with a thread for each core, and A/A.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

from pairs import report

WORDS = ["bench", "step", "latent_diffusion", "-c", "tiny", "--quiet", "--blocks", "3", "--steps", "2", "--warmup", "2"]
ALL_CORES = {"LARMOR_FREE_CORES": "all"}
LIBGOMPS_SPIN = {"GOMP_SPINCOUNT": "300000"}  # what it does unasked
SAID = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "LARMOR_FREE_CORES", "OMP_NUM_THREADS")


class Choice:
    def __init__(self, *words, **environment):
        self.words, self.environment = words, environment


PLANS = Choice()
BEFORE = Choice(**ALL_CORES, **LIBGOMPS_SPIN)
BUSY = {"plan": PLANS, "one thread": Choice("--threads", "1"), "two ranks": Choice("--ranks", "2", "--threads", "1"),
        "before": BEFORE}


def examples_a_second(program, choice):
    environment = {name: value for name, value in os.environ.items() if name not in SAID}
    out = subprocess.run([program, *WORDS, *choice.words], env=environment | choice.environment, capture_output=True,
                         text=True, check=True).stdout
    line = json.loads(out.strip().splitlines()[-1])
    return line["result"]["larmor"]["samples_per_s"], line["versions"]["threads"]


def in_turn(names, turn):
    return names if turn % 2 == 0 else list(reversed(names))


def measure_busy(run):
    forever = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(run.busy)]
    try:
        ratios, before = [], []
        for turn in range(run.rounds):
            rates, threads = {}, {}
            for name in in_turn(list(BUSY), turn):
                rates[name], threads[name] = examples_a_second(run.program, BUSY[name])
            best = max(rates["one thread"], rates["two ranks"])
            ratios.append(best / rates["plan"])
            before.append(best / rates["before"])
            print(json.dumps({"busy": run.busy, "round": turn, "plans_threads": threads["plan"],
                              "examples_a_second": {name: round(rate, 2) for name, rate in rates.items()}}), flush=True)
        for name, of in (("plan", ratios), ("before", before)):
            report(f"{run.busy} busy processes: best of one thread and two ranks / {name}", of)
            print(json.dumps({"least": round(min(of), 2), "most": round(max(of), 2)}), flush=True)
    finally:
        for process in forever:
            process.kill()
            process.wait()


def compare(name, first, other, run):
    """How many times as quick the first is as the other, and as itself."""
    against, itself, threads = [], [], []
    for pair in range(run.pairs):
        rates = {}
        for which in in_turn(["first", "other", "again"], pair):
            rates[which], used = examples_a_second(run.program, other if which == "other" else first)
            threads.append(used)
        against.append(rates["first"] / rates["other"])
        itself.append(rates["first"] / rates["again"])
    report(f"{name}", against)
    report(f"{name}: A/A", itself)
    print(json.dumps({"least": round(min(against), 2), "most": round(max(against), 2),
                      "threads": statistics.mode(threads)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--busy", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--figures", default="busy,quiet")
    run = parser.parse_args()
    figures = run.figures.split(",")
    if "busy" in figures:
        measure_busy(run)
    if "quiet" in figures:
        compare("quiet: plan / before", PLANS, BEFORE, run)
        compare("quiet: spin of 1000 / libgomp's", Choice(**ALL_CORES), Choice(**ALL_CORES, **LIBGOMPS_SPIN), run)
        compare("quiet: spin of 1000 / passive", Choice(**ALL_CORES), Choice(**ALL_CORES, OMP_WAIT_POLICY="passive"),
                run)


if __name__ == "__main__":
    main()
