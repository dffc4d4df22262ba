"""Times Larmor beside the Python peers, in turn, in one run, and prints ratios with their noise.

A pair is one short process of each, the order reversed every other time; the figure is the median of the
paired ratios peer / larmor (above 1: Larmor is faster) with a bootstrap 95 % interval. An A/A pair of Larmor
against itself shows what the machine alone does to a ratio.

  python3 bench/side_by_side.py --program build/release/bin/larmor --peers PEERS --python PYTHON [--pairs 8]
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess


def last_json(command):
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def larmor_step(program, threads, blocks, steps):
    result = last_json([program, "bench", "step", "latent_diffusion", "-c", "brain", "data.kind=phantom",
                        "data.phantom_cases=8", "data.phantom_size=[64, 64, 64]", "data.split.val=0.2",
                        "--threads", str(threads), "--blocks", str(blocks), "--steps", str(steps), "--warmup", "2"])
    return {"larmor": result["result"]["larmor"]["min_ms"]}


def peer_step(python, peers, threads, blocks, steps):
    result = last_json([python, str(peers / "autoencoder_step.py"), "--size", "small", "--threads", str(threads),
                        "--modes", "eager,channels_last_3d", "--blocks", str(blocks), "--steps", str(steps),
                        "--warmup", "2"])
    return {mode: result["result"][mode]["min_ms"] for mode in ("eager", "channels_last_3d")}


def interval(ratios, draws=2000):
    chance = random.Random(0)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def report(name, ratios):
    low, high = interval(ratios)
    print(json.dumps({"figure": name, "ratio": round(statistics.median(ratios), 3),
                      "interval95": [round(low, 3), round(high, 3)], "pairs": len(ratios)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peers", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    arguments = parser.parse_args()
    run = (arguments.threads, arguments.blocks, arguments.steps)
    against_peer, against_itself = [], []
    for pair in range(arguments.pairs):
        work = [lambda: larmor_step(arguments.program, *run), lambda: peer_step(arguments.python, arguments.peers, *run)]
        results = [one() for one in (work if pair % 2 == 0 else work[::-1])]
        ours, theirs = results if pair % 2 == 0 else results[::-1]
        again = larmor_step(arguments.program, *run)
        against_peer.append(min(theirs.values()) / ours["larmor"])
        against_itself.append(again["larmor"] / ours["larmor"])
        print(json.dumps({"pair": pair, **ours, **theirs, "larmor_again": again["larmor"]}), flush=True)
    report("training step, small autoencoder: best of eager and channels_last_3d / larmor", against_peer)
    report("A/A: larmor / larmor", against_itself)


if __name__ == "__main__":
    main()
