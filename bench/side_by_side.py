"""Times Larmor beside the Python peers, in turn, in one run, and prints ratios with their noise.

A pair is one short process of each, the order reversed every other time; the figure is the median of the
paired ratios peer / larmor (above 1: Larmor is faster) with a bootstrap 95 % interval. An A/A pair of Larmor
against itself shows what the machine alone does to a ratio.

  script/peers && python3 bench/side_by_side.py --program build/release/bin/larmor [--pairs 8]
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import network_steps
from network_steps import SMALL_AUTOENCODER, lengths
from pairs import PEERS, PEERS_PYTHON, compare, last_json, report

EACH_OF_TWO = 2  # a micro-batch of the peers' scripts


def ddp(run):
    """Two ranks of one thread, each with a batch of its own."""
    def ours():
        return last_json([run.program, "bench", "step", *SMALL_AUTOENCODER, f"train.global_batch={2 * EACH_OF_TWO}",
                          "train.precision=fp32", "--ranks", 2, "--threads", 1, *lengths(run)])["result"]["larmor"]["min_ms"]

    def theirs():
        modes = ["ddp", "ddp_view"]
        result = last_json([run.python, PEERS / "ddp_step.py", "--world", 2, "--threads", 1, "--pin",
                            "--modes", ",".join(modes), *lengths(run)])["result"]
        return {mode: result[mode]["min_ms"] for mode in modes}

    compare("data-parallel step, two ranks of one core", ours, theirs, run.pairs)


def reducer_blocks(program, size, blocks):
    """One start of ddp_pairs on two cores: the milliseconds of each mode's blocks."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        ranks = [subprocess.Popen(
            ["taskset", "-c", str(cores[rank % len(cores)]), str(program), f"{folder}/store", *map(str, size),
             str(blocks), "1"],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
                 "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                 "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE, text=True) for rank in range(2)]
        return json.loads([rank.communicate()[0] for rank in ranks][0])


def reducer(run):
    """Ours and libtorch's c10d::Reducer in turn within the same two processes of one core each. Ours runs as two
    modes, whose mean is what the peer is held against: where a mode's memory lies makes a few per cent."""
    program = run.program.with_name("ddp_pairs")
    if not program.exists():
        print("reducer: build preset bench, which makes ddp_pairs", flush=True)
        return
    blocks_of_a_start = 4
    for name, size in {"small autoencoder, batch 2 of 48 cubed": ["16,32,64", 48, 2],
                       "wide autoencoder, one of 16 cubed": ["64,128,256", 16, 1]}.items():
        ratios = {"reducer": [], "reducer_view": [], "A/A, larmor": []}
        for _ in range(run.pairs):
            blocks = reducer_blocks(program, size, blocks_of_a_start)
            for ours, again, *peers in zip(blocks["larmor"], blocks["larmor_again"], blocks["reducer"],
                                           blocks["reducer_view"]):
                for mode, peer in zip(ratios, peers):
                    ratios[mode].append(peer / ((ours + again) / 2))
                ratios["A/A, larmor"].append(again / ours)
            print(json.dumps({"figure": name, "median_ms": {mode: round(statistics.median(values), 1)
                                                            for mode, values in blocks.items()}}), flush=True)
        for mode, values in ratios.items():
            report(f"step, {name}: {mode} / larmor", values)


def strategies(run):
    """Stages of ZeRO against plain replicas, two ranks of one core, in turn."""
    asked = ["ddp", "zero1", "zero2", "zero3"]
    for name, words in {"tiny": ["latent_diffusion", "-c", "tiny"],
                        "small": [*SMALL_AUTOENCODER, f"train.global_batch={2 * EACH_OF_TWO}"]}.items():
        def once(strategy):
            return last_json([run.program, "bench", "step", *words, f"parallel.strategy={strategy}", "train.precision=fp32", "--ranks", 2,
                              "--threads", 1, *(lengths(run) if name == "small" else
                                                ["--blocks", 7, "--steps", 20, "--warmup", 10])]
                             )["result"]["larmor"]["min_ms"]

        ratios = {strategy: [] for strategy in [*asked[1:], "A/A, ddp"]}
        for pair in range(run.pairs):
            order = asked if pair % 2 == 0 else asked[::-1]
            measured = {strategy: once(strategy) for strategy in order}
            measured["A/A, ddp"] = once("ddp")
            print(json.dumps({"figure": "strategies", "network": name, "ms": measured}), flush=True)
            for strategy, values in ratios.items():
                values.append(measured[strategy] / measured["ddp"])
        for strategy, values in ratios.items():
            report(f"{name}, step of {strategy} / step of ddp", values)


def seconds_to_first_step(program, folder):
    """From the command to the first step line of `tiny`, one CPU rank; the run is left in `folder`."""
    began = time.monotonic()
    with subprocess.Popen([str(program), "train", "latent_diffusion", "-c", "tiny", "--ranks", "1",
                           f"run.folder={folder}", "run.name=start"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        events = folder / "start" / "events.jsonl"
        while not (events.exists() and '"kind":"step"' in events.read_text()):
            time.sleep(0.002)
        seconds = time.monotonic() - began
        process.kill()
    return seconds


def start(run):
    seconds = []
    for _ in range(run.pairs):
        folder = pathlib.Path(tempfile.mkdtemp())
        seconds.append(seconds_to_first_step(run.program, folder))
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({"figure": "tiny: start to the first step line, seconds", "median": round(statistics.median(seconds), 3),
                      "max": round(max(seconds), 3), "runs": len(seconds)}), flush=True)


ONE_CORE = ["taskset", "-c", "0", "env", "OMP_NUM_THREADS=1"]


def load(run):
    """Real heads from file to sample on one core: reading alone, and the tutorial's chain."""
    if run.data is None:
        print("load: give --data, a folder of real heads", flush=True)
        return
    ratios = {"reading, MONAI LoadImage": [], "reading, nibabel to float32": [], "chain of the tutorial": []}
    for pair in range(run.pairs):
        def ours():
            return last_json([*ONE_CORE, run.program, "bench", "loader", "latent_diffusion", "-c", "tutorial_32g",
                              f"data.folder={run.data}", 'data.exclude=["*lesion*", "*seg*"]', "--repeats", 1,
                              "--workers", 1, "--quiet"])["mean_ms_per_volume"]

        def theirs():
            return last_json([*ONE_CORE, run.python, PEERS / "load_chain.py", run.data, "--threads", 1,
                              "--repeats", 1])["mean_ms_per_volume"]

        order = [ours, theirs] if pair % 2 == 0 else [theirs, ours]
        measured = {function.__name__: function() for function in order}
        mine, peer = measured["ours"], measured["theirs"]
        ratios["reading, MONAI LoadImage"].append(peer["load"] / mine["load"])
        ratios["reading, nibabel to float32"].append(peer["nibabel_float32"] / mine["load"])
        ratios["chain of the tutorial"].append(peer["chain"] / mine["chain"])
        print(json.dumps({"figure": "load", "pair": pair, "larmor_ms": mine, "peer_ms": peer}), flush=True)
    for name, values in ratios.items():
        report(f"{name}, one core: peer / larmor", values)


def affine(run):
    """MONAI's RandAffine on volumes of 128 voxels an axis, one core."""
    import numpy

    folder = pathlib.Path(tempfile.mkdtemp())
    for case in range(8):
        (folder / f"case{case}").mkdir()
        numpy.save(folder / f"case{case}" / "v.npy", numpy.random.default_rng(case).random((128, 128, 128), "float32"))
    turn = ("[{RandAffine: {prob: 1, rotate_range: [0.3, 0.3, 0.3], scale_range: [0.1, 0.1, 0.1], "
            "padding_mode: border}}]")

    def ours():
        return last_json([*ONE_CORE, run.program, "bench", "loader", "latent_diffusion", "-c", "tutorial_32g",
                          "data.kind=npz", f"data.folder={folder}", f"data.transforms={turn}", "--repeats", 5,
                          "--workers", 1, "--quiet"])["mean_ms_per_volume"]["rand_affine"]

    def theirs():
        return last_json([*ONE_CORE, run.python, PEERS / "affine.py", folder])["result"]

    compare("RandAffine, trilinear, 128 cubed, one core", ours, theirs, run.pairs)
    shutil.rmtree(folder, ignore_errors=True)


def pictures(run):
    """Radiographs from PNG or JPEG to a normalised tensor of 224 by 224, one core."""
    if run.pictures is None:
        print("pictures: give --pictures, a folder of radiographs", flush=True)
        return
    steps = ("[{LoadImage: {converter: L}}, {Resize: {spatial_size: [224, 224], mode: area}}, "
             "{NormalizeIntensity: {subtrahend: 127.5, divisor: 127.5}}]")

    def ours():
        return last_json([*ONE_CORE, run.program, "bench", "loader", "latent_diffusion", "-c", "tutorial_32g",
                          "data.kind=picture", f"data.folder={run.pictures}", "data.split.by=file",
                          f"data.transforms={steps}", "--repeats", 3, "--workers", 1,
                          "--quiet"])["mean_ms_per_volume"]["chain"]

    def theirs():
        return last_json([*ONE_CORE, run.python, PEERS / "pictures.py", run.pictures,
                          "--repeats", 3])["result"]

    ratios = {"pillow": [], "pillow_draft": []}
    for pair in range(run.pairs):
        order = [ours, theirs] if pair % 2 == 0 else [theirs, ours]
        measured = {function.__name__: function() for function in order}
        for way, values in ratios.items():
            values.append(measured["theirs"][way] / measured["ours"])
        print(json.dumps({"figure": "pictures", "pair": pair, "larmor_ms": measured["ours"],
                          "peer_ms": measured["theirs"]}), flush=True)
    for way, values in ratios.items():
        report(f"radiograph to a normalised tensor of 224 by 224, one core: {way} / larmor", values)


def words(run):
    """Questions to numbers on one core, cut to 128: one call a text, and all of them padded in one call."""
    program = run.program.with_name("word_piece")
    if run.vocabulary is None or not program.exists():
        print("words: give --vocabulary, a vocab.txt, and build preset bench, which makes word_piece", flush=True)
        return
    lines = run.vocabulary.parent / "wordpiece_lines.jsonl.gz"
    with gzip.open(lines, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"].replace("\n", " ") for line, _ in zip(file, range(2000))]
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    ratios = {"one_by_one": [], "batch": [], "A/A, batch": []}
    for pair in range(run.pairs):
        def ours():
            return last_json([*ONE_CORE, program, run.vocabulary, folder / "texts.txt", 9])

        def theirs():
            return last_json([*ONE_CORE, run.python, PEERS / "cxr_text_pipeline.py", folder, "--vocab", run.vocabulary,
                              "--lines", folder / "texts.jsonl", "--threads", 1, *lengths(run),
                              "--modes", "tokenize_one_by_one,tokenize_batch"])

        order = [ours, theirs] if pair % 2 == 0 else [theirs, ours]
        measured = {function.__name__: function() for function in order}
        mine, peer, again = measured["ours"], measured["theirs"], ours()
        assert mine["tokens"] == peer["check"]["tokens"] and mine["tokens_batch"] == peer["check"]["tokens_batch"]
        for way in ("one_by_one", "batch"):
            ratios[way].append(peer["result"]["tokenize_" + way]["min_ms"] / mine[way + "_ms"])
        ratios["A/A, batch"].append(again["batch_ms"] / mine["batch_ms"])
        print(json.dumps({"figure": "words", "pair": pair, "larmor": mine, "peer": peer["result"]}), flush=True)
    for way, values in ratios.items():
        report(f"{len(texts)} texts to numbers, one core, {way}: peer / larmor", values)
    shutil.rmtree(folder, ignore_errors=True)


def radiographs(run):
    """Radiographs from files to three normalised channels of 224 by 224, one core."""
    program = run.program.with_name("radiographs")
    if run.pictures is None or run.vocabulary is None or not program.exists():
        print("radiographs: give --pictures and --vocabulary, and build preset bench", flush=True)
        return

    def ours():
        return last_json([*ONE_CORE, program, run.pictures, run.blocks * run.steps])["min_ms"]

    def theirs():
        result = last_json([*ONE_CORE, run.python, PEERS / "cxr_text_pipeline.py", run.pictures, "--vocab", run.vocabulary,
                            "--threads", 1, "--questions", 1, "--modes", "decode_resize_normalise", *lengths(run)])["result"]
        return {"pillow": result["decode_resize_normalise"]["min_ms"]}

    compare("radiographs to a batch of 224 by 224, three channels, one core", ours, theirs, run.pairs)


FIGURES = {**network_steps.FIGURES, "ddp": ddp, "reducer": reducer, "strategies": strategies, "start": start,
           "load": load, "affine": affine, "pictures": pictures, "words": words, "radiographs": radiographs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=PEERS_PYTHON, help="for the peers; by default what script/peers makes")
    parser.add_argument("--data", type=pathlib.Path, help="folder of real heads, for load")
    parser.add_argument("--pictures", type=pathlib.Path, help="folder of radiographs, for pictures")
    parser.add_argument("--vocabulary", type=pathlib.Path, help="vocab.txt beside its recorded lines, for words")
    parser.add_argument("--figures", default=",".join(FIGURES), help="which of " + ", ".join(FIGURES))
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--peer-modes", help="of the peers' training steps, in place of the better of two layouts: compile,…")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    run = parser.parse_args()
    run.program = run.program.resolve()
    for name in run.figures.split(","):
        FIGURES[name](run)


if __name__ == "__main__":
    main()
