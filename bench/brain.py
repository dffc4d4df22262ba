"""Trains the small autoencoder on real heads, Larmor on the ranks and in the precision that its plan chooses and MONAI
on two threads, one after the other, a number of minutes each; prints the validation scores of both over time and how
far they are apart.

  script/peers && python3 bench/brain.py --program build/release/bin/larmor --data HEADS [--seeds 0,1,2]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from pairs import PEERS, PEERS_PYTHON

# The heads of the shared data that are held out.
SPLIT = "data.split={val: [tcga_fg_6692, cstar_stroke], test: 0}"


def train_larmor(run, seed):
    folder = pathlib.Path(tempfile.mkdtemp())
    command = [run.program, "train", "latent_diffusion", "-c", "brain", f"data.folder={run.data}", SPLIT, f"run.seed={seed}",
               f"run.folder={folder}", "run.name=brain", f"train.length={run.seconds}s", "--quiet",
               f"train.precision={run.precision}", *(["--ranks", run.ranks] if run.ranks else [])]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    scores = []
    for line in (folder / "brain" / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "validation":
            values = event["values"]
            scores.append({"step": event["step"], "psnr": values["val/psnr"], "ssim": values["val/ssim"], "l1": values["val/l1"]})
    return scores


def train_peer(run, seed):
    command = [run.python, PEERS / "train_autoencoder.py", run.data, "--budget", run.seconds, "--every", 60,
               "--threads", 2, "--mode", "channels_last_3d", "--lr", 1e-3, "--seed", seed]
    out = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return [{"step": e["step"], "psnr": e["val_psnr"], "ssim": e["val_ssim"], "l1": e["val_l1"]}
            for e in events if e.get("event") == "score"]


def at_step(scores, step):
    """PSNR at a step, on the line between the two validations around it."""
    before = max((s for s in scores if s["step"] <= step), key=lambda s: s["step"])
    after = min((s for s in scores if s["step"] >= step), key=lambda s: s["step"], default=before)
    if after["step"] == before["step"]:
        return before["psnr"]
    share = (step - before["step"]) / (after["step"] - before["step"])
    return before["psnr"] + share * (after["psnr"] - before["psnr"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=PEERS_PYTHON, help="for the peer; by default what script/peers makes")
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--ranks", type=int, help="Larmor's; as many as its plan chooses unless given")
    parser.add_argument("--precision", default="auto", help="Larmor's; the peer computes in fp32")
    run = parser.parse_args()
    run.data = run.data.resolve()
    for seed in run.seeds.split(","):
        ours, theirs = train_larmor(run, seed), train_peer(run, seed)
        last = min(ours[-1]["step"], theirs[-1]["step"])
        print(json.dumps({"seed": seed, "larmor": ours, "peer": theirs}), flush=True)
        print(json.dumps({"figure": "validation PSNR, dB", "seed": seed, "larmor": ours[-1], "peer": theirs[-1],
                          "difference": round(ours[-1]["psnr"] - theirs[-1]["psnr"], 3),
                          "equal_steps": {"step": last, "larmor": round(at_step(ours, last), 3),
                                          "peer": round(at_step(theirs, last), 3)}}), flush=True)


if __name__ == "__main__":
    main()
