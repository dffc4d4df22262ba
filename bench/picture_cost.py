"""What pictures cost a validation while a run trains, in processor time.

Three runs in turn, again and again: without validations, with one after every step, and the same with its
pictures. Pictures that are sampled (latent_diffusion's and fast_ddpm's) cost what sampling costs, which is in
the figure. Prints a JSON line a round, and in the end the median share with its interval.

  picture_cost.py LARMOR ROUNDS STEPS WORKLOAD [words of `larmor train` …]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pairs


def processor_seconds(command):
    """Of the command and all its children, who have ended."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def trained(larmor, words, steps, name, folder, validate_every, pictures_every):
    """Processor seconds of a run whose seeds are those of all others."""
    return processor_seconds([
        larmor, "train", *words, f"train.length={steps}st", f"train.validate_every={validate_every}",
        f"track.pictures_every={pictures_every}", "train.early_stopping=0", "checkpoint.every=0",
        "optim.schedule.warmup=0",
        f"run.folder={folder}", f"run.name={name}", "--no-check"])


def main():
    larmor, rounds, steps, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    shares = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds):
            folder = pathlib.Path(scratch) / str(number)
            kinds = [("plain", "0", "0"), ("validated", "1st", "0"), ("shown", "1st", "1st")]
            order = kinds if number % 2 == 0 else kinds[::-1]
            seconds = {name: trained(larmor, words, steps, name, folder, *when) for name, *when in order}
            validation = (seconds["validated"] - seconds["plain"]) / steps
            pictures = (seconds["shown"] - seconds["validated"]) / steps
            shares.append(pictures / validation)
            print(json.dumps({"figure": "pictures beside a validation", "round": number,
                              "validation_cpu_s": round(validation, 4), "pictures_cpu_s": round(pictures, 4)}),
                  flush=True)
    pairs.report(" ".join(["pictures / validation:", *words]), shares)


main()
