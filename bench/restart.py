"""How long a run of two ranks stands still when one of them is killed: from the death to the first new step.

  python3 bench/restart.py --program build/release/bin/larmor [--kills 4]
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time


def steps(events):
    lines = events.read_text().splitlines() if events.exists() else []
    return [line for line in lines if '"kind":"step"' in line]


def one_restart(program, folder):
    words = ["train", "latent_diffusion", "-c", "tiny", "--ranks", "2", "--steps", "120", "run.name=killed",
             "checkpoint.every=10st", "--max-restarts", "1"]
    run = subprocess.Popen([program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events = pathlib.Path(folder, "runs", "killed", "events.jsonl")
    while len(steps(events)) < 25:
        time.sleep(0.02)
    ranks = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    died = time.time()
    os.kill(int(ranks[1]), signal.SIGKILL)
    if run.wait(120) != 0:
        raise SystemExit("the run did not go on")
    first = next(json.loads(line) for line in steps(events) if '"generation":1' in line)
    return first["t"] - died


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=4)
    arguments = parser.parse_args()
    for _ in range(arguments.kills):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{one_restart(arguments.program.resolve(), folder):.2f} s", flush=True)


if __name__ == "__main__":
    main()
