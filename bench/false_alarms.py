"""Trains under load while ranks stand still for a while now and then, and counts how often the launcher took one for
hanging, which it never should. No rank stands still twice within one step, so that what a step takes by itself under
this load, and one stall, stay below the limit together.

  python3 bench/false_alarms.py --program build/release/bin/larmor --minutes 30
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time


def burn():
    while True:
        sum(range(100_000))


def churn(folder):
    """Keeps the disk busy: writes, syncs and removes a file of 64 MiB."""
    block = os.urandom(1 << 20)
    file = pathlib.Path(folder) / "churn"
    while True:
        with file.open("wb") as out:
            for _ in range(64):
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        file.unlink()


def environment_of(process):
    try:
        entries = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(entry.decode(errors="replace").partition("=")[::2] for entry in entries if entry)


def ranks_of(launcher):
    """Processes below the launcher that are ranks."""
    children = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == launcher and "LARMOR_RANK" in environment_of(entry.name):
            children.append(int(entry.name))
    return children


def stall(process, seconds):
    """Stops a rank for so long. Whether it was still there."""
    try:
        os.kill(process, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def lines_with(file, words):
    if not file.exists():
        return []
    return [line for line in file.read_text().splitlines() if any(word in line for word in words)]


def steps_of(events):
    """Step lines so far."""
    return sum('"kind":"step"' in line for line in events.read_text().splitlines()) if events.exists() else 0


def train(run, folder):
    command = [run.program.resolve(), "train", "latent_diffusion", "-c", "tiny", "run.name=run", "--ranks", run.ranks,
               f"train.length={run.minutes * 60:.0f}s", "train.global_batch=4", "train.accumulation=2",
               "train.validate_every=50st", "checkpoint.every=25st", "optim.ema_decay=0.9", "data.phantom_cases=24", "optim.schedule.name=constant",
               f"parallel.hang_limit={run.limit:g}s", "--quiet"]
    return subprocess.Popen([str(word) for word in command], cwd=folder, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--limit", type=float, default=20, help="parallel.hang_limit in seconds")
    parser.add_argument("--longest", type=float, default=0.6, help="stall, as a share of the limit")
    parser.add_argument("--burners", type=int, default=os.cpu_count(), help="processes that only compute")
    parser.add_argument("--seed", type=int, default=0)
    run = parser.parse_args()
    chance = random.Random(run.seed)

    with tempfile.TemporaryDirectory() as folder:
        load = [multiprocessing.Process(target=burn, daemon=True) for _ in range(run.burners)]
        load.append(multiprocessing.Process(target=churn, args=(folder,), daemon=True))
        for process in load:
            process.start()
        training = train(run, folder)
        place = pathlib.Path(folder) / "runs" / "run"
        stalls = []
        seen = 0
        while training.poll() is None:
            time.sleep(chance.uniform(0.5, 3))
            ranks = ranks_of(training.pid)
            steps = steps_of(place / "events.jsonl")
            if not ranks or steps < seen + 2:
                continue
            seconds = chance.uniform(0.1, run.longest * run.limit)
            if stall(chance.choice(ranks), seconds):
                stalls.append(seconds)
            seen = steps
        for process in load:
            process.terminate()
        if not (place / "events.jsonl").exists():
            raise SystemExit(f"the training did not begin: exit status {training.returncode}")
        log = place / "log" / "launcher.log"
        events = [json.loads(line) for line in (place / "events.jsonl").read_text().splitlines() if line.endswith("}")]
        alarms = lines_with(log, [" hangs"])
        print(json.dumps({"script": "false_alarms", "minutes": run.minutes, "ranks": run.ranks, "limit_s": run.limit,
                          "burners": run.burners, "stalls": len(stalls), "longest_stall_s": round(max(stalls, default=0), 2),
                          "stalled_s": round(sum(stalls), 1), "steps": sum(e["kind"] == "step" for e in events),
                          "alarms": len(alarms), "named_slow": len(lines_with(log, [" is slow"])),
                          "status": training.returncode}))
        for line in alarms:
            print(line)
    return 1 if alarms or training.returncode != 0 else 0


if __name__ == "__main__":
    raise SystemExit(main())
