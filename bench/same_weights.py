"""Whether two builds of larmor train the same bits: twenty steps of every stage's `tiny` config that needs no earlier
run, by replicas and by ZeRO-2 on two ranks. Compares the hashes of weights, averages and optimizer states of each
checkpoint; ends with 1 where one differs.

  python3 bench/same_weights.py --before OLD/bin/larmor --after build/release/bin/larmor
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

KEPT = ("model*.safetensors", "ema*.safetensors", "optimizer*.safetensors")


def stages(program):
    listed = json.loads(subprocess.run([program, "list", "--json"], check=True, capture_output=True, text=True).stdout)
    for workload in listed:
        for stage in workload["stage_details"]:
            if not stage["needs"]:
                yield workload["workload"], stage["stage"]


def hashes(program, workload, stage, strategy):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", workload, "--stage", stage, "-c", "tiny", "--quiet", f"run.folder={folder}", "run.name=run",
                   "train.length=20st", "train.validate_every=10st", "optim.ema_decay=0.9", "parallel.ranks=2",
                   f"parallel.strategy={strategy}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        checkpoints = pathlib.Path(folder, "run", "checkpoints")
        files = sorted(file for pattern in KEPT for file in checkpoints.glob(f"step-*/{pattern}"))
        return {str(file.relative_to(checkpoints)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    options = parser.parse_args()
    differ = 0
    for workload, stage in stages(options.before):
        for strategy in ("ddp", "zero2"):
            before, after = (hashes(program, workload, stage, strategy) for program in (options.before, options.after))
            same = before == after and bool(before)
            differ += not same
            print(f"{workload} {stage} {strategy}: {len(before)} files, {'the same' if same else 'NOT THE SAME'}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
