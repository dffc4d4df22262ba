#!/usr/bin/env python3
"""A step of ours and the peer's at the same size, in turn: ours, peer, peer, ours (--order abba), or less.

    python3 beside_peer.py NAME [--order abba|abb|ab] [--profile FILE] [--folder FOLDER]

The peer's process stays, so its second turn needs no warm-up; it holds weights and states meanwhile and nothing else.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import guide_steps
import trace_table

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import pairs  # noqa: E402


class Peer:
    def __init__(self, run):
        words = [os.environ.get("PYTHON", sys.executable), "-B", str(Path(__file__).with_name("peer_step.py")), run.name,
                 "--serve", "--blocks", str(run.blocks), "--steps", str(run.steps), "--modes", run.modes]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self):
        """{mode: milliseconds}, of the modes that the card had room for."""
        if self.process.poll() is None:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the peer ended with {self.process.wait()}")
        print(line.strip(), flush=True)
        return {mode: result["median_ms"] for mode, result in json.loads(line)["result"].items()}

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def our_turn(run, command, profile):
    """Milliseconds a step."""
    line = guide_steps.timed(command + (["--profile", profile] if profile else []))
    median = line["result"]["larmor"]["median_ms"]
    print("figures: " + guide_steps.sentence(run.name, line), flush=True)
    if profile:
        trace_table.show(profile, run.steps, median)
        trace_table.keep_packed(profile)
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=guide_steps.STEPS)
    parser.add_argument("--order", default="abba")
    parser.add_argument("--modes", default="bf16,bf16_channels_last_3d", help="of the peer")
    parser.add_argument("--profile", type=Path, help="a trace of ours, made at its first turn")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=6)
    run, more = parser.parse_known_args()
    peer = Peer(run)
    command = guide_steps.command(run.name, run.folder, more, run.blocks, run.steps, run.warmup)
    ours, theirs, faults = [], [], []
    for turn in run.order:
        try:
            if turn == "b":
                theirs.append(peer.step())
                print("figures: peer " + ", ".join(f"{mode} {ms:.1f} ms" for mode, ms in theirs[-1].items()), flush=True)
            else:
                ours.append(our_turn(run, command, run.profile if not ours and not faults else None))
        except SystemExit as fault:  # the other side is worth its figures all the same
            faults.append(str(fault))
            print(f"figures: {fault}", flush=True)
    peer.end()
    for mode in theirs[0] if theirs else ():
        ratios = [peer_ms[mode] / ours_ms for peer_ms in theirs if mode in peer_ms for ours_ms in ours]
        if ratios:
            pairs.report(f"{run.name}: peer {mode} / larmor", ratios)
            print(f"figures: peer {mode} / larmor {min(ratios):.2f} to {max(ratios):.2f}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
