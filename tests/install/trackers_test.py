"""Tracking services as they are: servers of MLflow and Trackio on loopback, and the package wandb offline. Each gets
every number of a run, though servers and senders are killed while it trains.

What pip cannot fetch is skipped.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

PACKAGES = ["mlflow==3.17.2", "trackio==0.43.0", "wandb==0.31.0"]
PROGRAM = os.environ["LARMOR_PROGRAM"]
TOKEN = "a-token-of-this-test"


# Its file is a log of LevelDB's form behind seven bytes, of messages that the package declares.
READ_WANDB = """
import json, struct, sys
from wandb.proto import wandb_internal_pb2
data = open(sys.argv[1], "rb").read()
place, block, part, steps = 7, 32768, b"", []
while place + 7 <= len(data):
    left = block - place % block
    if left < 7:
        place += left
        continue
    _, length, kind = struct.unpack("<IHB", data[place:place + 7])
    part += data[place + 7:place + 7 + length]
    place += 7 + length
    if kind not in (1, 4):  # whole, or the last part
        continue
    record = wandb_internal_pb2.Record.FromString(part)
    part = b""
    if record.WhichOneof("record_type") != "history":
        continue
    row = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
    if "train/loss" in row:
        steps.append(int(float(row["global_step"])))
print(sorted(steps))
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(url, body=None, timeout=30):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return json.load(reply)


def wait_for(url, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"{url} does not answer")


def recorded(run):
    """{name: [step]} of all numbers of the log."""
    steps = {}
    for line in (run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        for name in event["values"]:
            steps.setdefault(name, []).append(event["step"])
    return {name: sorted(all_of_it) for name, all_of_it in steps.items()}


class Trackers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", cls.scratch / "python"], check=True)
        cls.python = cls.scratch / "python" / "bin" / "python"
        fetched = subprocess.run([cls.python, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True)
        if fetched.returncode != 0:
            print("skipped: pip cannot fetch", " ".join(PACKAGES), fetched.stderr[-300:])
            sys.exit(77)

    def serve(self, command, url, **variables):
        server = subprocess.Popen(command, cwd=self.scratch, env={**os.environ, **variables}, start_new_session=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, server)
        wait_for(url)
        return server

    @staticmethod
    def end(server):
        """The server and what it has started."""
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    def train(self, name, steps, *keys):
        command = [PROGRAM, "train", "latent_diffusion", "-c", "tiny", f"train.length={steps}st", f"run.name={name}",
                   "train.validate_every=50st", "checkpoint.every=100st", "track.pictures_every=100st", *keys]
        return subprocess.Popen(command, cwd=self.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def trained(self, name, steps, *keys):
        training = self.train(name, steps, *keys)
        words = training.communicate()[1]
        self.assertEqual(training.returncode, 0, words)

    def larmor(self, *words, **variables):
        done = subprocess.run([PROGRAM, *words], cwd=self.scratch, env={**os.environ, **variables}, text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def wait_for_step(self, run, step):
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                if json.loads((run / "events.jsonl").read_text().splitlines()[-1])["step"] >= step:
                    return
            except (OSError, ValueError, IndexError):
                pass
            time.sleep(0.1)
        self.fail(f"no step {step}")

    def sender_of(self, run):
        """The process that holds the lock of the run's sender."""
        words = (run / "sync" / "mlflow.lock").read_text().split()
        return int(words[words.index("process") + 1])

    def test_mlflow_has_all_of_a_run_whose_server_and_sender_were_killed(self):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = [self.python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
                   "--backend-store-uri", f"sqlite:///{self.scratch}/mlflow.db", "--artifacts-destination",
                   str(self.scratch / "artifacts")]
        server = self.serve(command, url + "/health")
        run = self.scratch / "runs" / "killed"
        training = self.train("killed", 400, f"track.mlflow.uri={url}")
        self.wait_for_step(run, 60)
        self.end(server)
        self.wait_for_step(run, 140)
        server = self.serve(command, url + "/health")
        self.wait_for_step(run, 200)
        os.kill(self.sender_of(run), signal.SIGKILL)
        words = training.communicate()[1]
        self.assertEqual(training.returncode, 0, words)
        self.assertIn("MLflow has not all of the run", words)
        self.larmor("sync", "killed", "--to", "mlflow")
        found = ask(url + "/api/2.0/mlflow/runs/search", {"experiment_ids": ["1"]})["runs"]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["info"]["status"], "FINISHED")
        for name, steps in recorded(run).items():
            query = urllib.parse.urlencode({"run_id": found[0]["info"]["run_id"], "metric_key": name.replace("@", "_"),
                                            "max_results": 25000})
            history = ask(f"{url}/api/2.0/mlflow/metrics/get-history?{query}").get("metrics", [])
            self.assertEqual(sorted(int(one.get("step", 0)) for one in history), steps, name)
        pictures = list((self.scratch / "artifacts").rglob("*.png"))
        self.assertEqual(len(pictures), len(list((run / "pictures").glob("*.png"))))

    def test_trackio_has_every_line_once(self):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        script = f"import trackio; trackio.show(open_browser=False, block_thread=True, server_port={port})"
        self.serve([self.python, "-c", script], url + "/version", TRACKIO_DIR=str(self.scratch / "trackio"),
                   TRACKIO_WRITE_TOKEN=TOKEN)
        self.trained("lines", 60)
        run = self.scratch / "runs" / "lines"
        to = ["--to", "trackio", f"track.trackio.uri={url}", "track.trackio.project=heads"]
        self.larmor("sync", "lines", *to, TRACKIO_WRITE_TOKEN=TOKEN)
        shutil.rmtree(run / "sync")  # as if nobody had noted what was sent: all is sent again, as another run
        self.larmor("sync", "lines", *to, TRACKIO_WRITE_TOKEN=TOKEN)
        rows = ask(url + "/api/get_runs_for_project", {"kwargs": {"project": "heads"}})["data"]
        self.assertEqual(len(rows), 2)
        logs = ask(url + "/api/get_logs", {"kwargs": {"project": "heads", "run": "lines", "run_id": rows[0]["id"]}})["data"]
        steps = sorted(row["step"] for row in logs if "train/loss" in row)
        self.assertEqual(steps, recorded(run)["train/loss"])

    def test_the_package_wandb_has_every_line(self):
        # This test's Python has no such package, and the run does without.
        self.trained("offline", 60, "track.wandb.enabled=true", "track.wandb.mode=offline")
        run = self.scratch / "runs" / "offline"
        self.larmor("sync", "offline", "--to", "wandb", LARMOR_PYTHON=str(self.python))
        record, = run.glob("wandb/offline-run-*/run-*.wandb")
        read = subprocess.run([self.python, "-c", READ_WANDB, record], capture_output=True, text=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertEqual(json.loads(read.stdout), recorded(run)["train/loss"])


if __name__ == "__main__":
    unittest.main()
