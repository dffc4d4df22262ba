"""Larmor beside what people use: MONAI's small autoencoder trained by Lightning and by Accelerate. Two CPU ranks of one
thread, equal networks, losses and crops, a checkpoint every five steps, three restarts at most (--max-restarts of Larmor,
and of torchrun, which starts the peers as their documentation advises). One JSON line for each program and question:

  start   seconds from the command to the first step line; milliseconds a step from the fifth on; MiB of both ranks' peaks
  kill    a rank is killed at step 7: whether the run goes on by itself, the seconds until its next step, steps done twice
  stop    SIGTERM at step 7, as a cluster that takes the machine back: steps that are lost
  resume  whether a run that was stopped so and started again ends with the weights of one that nobody stopped

  script/peers && python3 bench/trainers.py --program build/release/bin/larmor [--rounds 3] [--questions start,kill,…]
"""
import argparse
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from network_steps import SMALL_AUTOENCODER
from pairs import PEERS, PEERS_PYTHON

STEPS, SAVE_EVERY, STOP_AT = 12, 5, 7
PATIENCE = 180  # seconds


class Larmor:
    def __init__(self, run, folder):
        self.folder = folder / "run"
        self.command = [run.program, "train", *SMALL_AUTOENCODER, "--ranks", 2, "--threads", 1, "train.precision=fp32",
                        "train.global_batch=4", f"train.length={STEPS}st", f"train.validate_every={STEPS}st",
                        f"checkpoint.every={SAVE_EVERY}st", "optim.schedule={name: constant}", "track.pictures_every=0",
                        "--max-restarts", 3, f"run.folder={folder}", "run.name=run"]
        self.again = [run.program, "train", self.folder, "--max-restarts", 3]

    def steps(self):
        """(step, seconds since 1970) of each step line so far."""
        path = self.folder / "events.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")] if path.exists() else []
        return [(event["step"], event["t"]) for event in events if event["kind"] == "step"]

    def newest_save(self):
        saves = [path for path in (self.folder / "checkpoints").glob("step-*") if (path / "manifest.json").exists()]
        return max((int(path.name.split("-")[1]) for path in saves), default=0)

    def weights(self):
        saves = sorted((self.folder / "checkpoints").glob("step-*"))
        return hashlib.sha256((saves[-1] / "model.safetensors").read_bytes()).hexdigest()


class Peer:
    def __init__(self, script, run, folder):
        self.folder = folder
        self.command = [pathlib.Path(run.python).with_name("torchrun"), "--nproc-per-node", 2, "--max-restarts", 3,
                        "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", PEERS / script,
                        "--folder", folder, "--steps", STEPS, "--save-every", SAVE_EVERY]
        self.again = self.command

    def steps(self):
        path = self.folder / "steps.jsonl"
        lines = path.read_text().splitlines(True) if path.exists() else []
        return [(line["step"], line["time"]) for line in map(json.loads, (text for text in lines if text.endswith("\n")))]

    def newest_save(self):
        names = [path.name for path in [*self.folder.glob("step-*"), *self.folder.glob("checkpoints/*step=*")]]
        return max((int(name.split("-")[1] if name.startswith("step-") else name.split("step=")[1].split(".")[0])
                    for name in names), default=0)

    def weights(self):
        return (self.folder / "weights.sha256").read_text()


PROGRAMS = {"larmor": Larmor, "MONAI + Lightning": functools.partial(Peer, "lightning_run.py"),
            "MONAI + Accelerate": functools.partial(Peer, "accelerate_run.py")}


@contextlib.contextmanager
def started(command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def reaches(program, step):
    return wait_for(lambda: any(done >= step for done, _ in program.steps()))


def ranks_of(process):
    """The ranks among the program's descendants, in their order: the oldest process of each RANK."""
    parents, found = {}, {}
    for path in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    below = {process.pid}
    for pid, parent in parents.items():  # a child's number is above its parent's, but where numbers begin anew
        if parent in below:
            below.add(pid)
            with contextlib.suppress(OSError):
                for word in pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0"):
                    if word.startswith("RANK="):
                        found.setdefault(int(word[5:]), pid)
    return [found[rank] for rank in sorted(found)]


def peak_mib(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def start(program):
    begun = time.time()
    with started(program.command) as process:
        assert reaches(program, STEPS - 1), "no step came"
        memory = sum(peak_mib(pid) for pid in ranks_of(process))
    times = dict(reversed(program.steps()))
    later = [times[step] - times[step - 1] for step in range(5, STEPS)]
    return {"first_step_s": round(times[1] - begun, 2), "step_ms": round(1e3 * statistics.median(later), 1),
            "peaks_mib": round(memory)}


def kill(program):
    with started(program.command) as process:
        assert reaches(program, STOP_AT), "no step came"
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        killed, before = time.time(), len(program.steps())
        goes_on = wait_for(lambda: process.poll() is not None or len(program.steps()) > before + 1) and process.poll() is None
        after = [(step, at) for step, at in program.steps()[before:] if at > killed]
    if not goes_on:
        return {"goes_on": False}
    first = min(after, key=lambda line: line[0]) if after else (0, killed)
    return {"goes_on": True, "seconds": round(first[1] - killed, 1), "steps_done_again": STOP_AT - first[0] + 1}


def stop(program):
    with started(program.command) as process:
        assert reaches(program, STOP_AT), "no step came"
        process.send_signal(signal.SIGTERM)
        asked = time.time()
        ended = wait_for(lambda: process.poll() is not None)
    done = max(step for step, _ in program.steps())
    return {"ends": ended, "seconds": round(time.time() - asked, 1), "steps_lost": done - program.newest_save()}


def resume(program, untouched):
    with started(untouched.command) as process:
        process.wait(PATIENCE)
    stop(program)
    with started(program.again) as process:
        process.wait(PATIENCE)
    return {"same_bits": program.weights() == untouched.weights()}


def ask(question, name, run):
    with contextlib.ExitStack() as stack:
        def fresh():
            return PROGRAMS[name](run, pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())))

        answer = resume(fresh(), fresh()) if question == "resume" else {"start": start, "kill": kill, "stop": stop}[question](fresh())
    print(json.dumps({"question": question, "program": name, **answer}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=PEERS_PYTHON, help="for the peers; by default what script/peers makes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", default="start,kill,stop,resume")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    run = parser.parse_args()
    run.program = run.program.resolve()
    names = run.programs.split(",")
    for turn in range(run.rounds):
        for question in run.questions.split(","):
            for name in names if turn % 2 == 0 else reversed(names):
                ask(question, name, run)


if __name__ == "__main__":
    main()
