"""Pairs of measurements in turn, and what may be said of their ratio."""
import json
import os
import pathlib
import random
import statistics
import subprocess


PEERS = pathlib.Path(__file__).with_name("peers")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
# The Python that script/peers makes, with all that the scripts of bench/peers import.
PEERS_PYTHON = str(CACHE / "larmor" / "peers" / "bin" / "python")


def last_json(command):
    """The last line of a command's output, which is one JSON document."""
    out = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def interval(ratios, draws=2000):
    """A bootstrap 95 % interval of the median."""
    chance = random.Random(0)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def report(name, ratios):
    low, high = interval(ratios)
    print(json.dumps({"figure": name, "ratio": round(statistics.median(ratios), 3),
                      "interval95": [round(low, 3), round(high, 3)], "pairs": len(ratios)}), flush=True)


def compare(name, ours, theirs, pairs):
    """Runs ours and theirs (functions that give milliseconds) in turn, the order reversed every other time,
    and ours once more: the ratio of ours to itself shows what the machine alone does to a ratio."""
    against_peer, against_itself = [], []
    for pair in range(pairs):
        order = ["ours", "theirs"] if pair % 2 == 0 else ["theirs", "ours"]
        measured = {who: (ours if who == "ours" else theirs)() for who in order}
        again = ours()
        best = min(measured["theirs"].values())
        against_peer.append(best / measured["ours"])
        against_itself.append(again / measured["ours"])
        print(json.dumps({"figure": name, "pair": pair, "larmor_ms": measured["ours"], "larmor_again_ms": again,
                          "peer_ms": measured["theirs"]}), flush=True)
    report(name + ": best mode of the peer / larmor", against_peer)
    report(name + ": A/A, larmor / larmor", against_itself)
