#!/usr/bin/env python3
"""What it costs to decode compressed files in a process apart: one file (DICOM, .nii.gz, .npz, .png or .jpg) read many
times, by turns decoded in the reading process and by larmor-decode. Prints one JSON line: milliseconds of processor time
a read (both processes), the medians over pairs, and what a read takes by the clock, which says something on a quiet
machine only.

  decoding_apart.py --program build/release/bin/larmor --file FILE [--pairs 5] [--reads 600]
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile

KINDS = {".gz": "nifti", ".npz": "npz", ".png": "picture", ".jpg": "picture", ".jpeg": "picture"}
READS_A_REPEAT = 8  # three copies for `load` and for `chain`, and samples of the two of the training split


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(program, folder, kind, decoder, repeats):
    before = spent()
    words = [program, "bench", "loader", "latent_diffusion", "-c", "tiny", f"data.kind={kind}", f"data.folder={folder}",
             "data.transforms=[]", "--quiet", "--workers", "1", "--repeats", str(repeats)]
    out = subprocess.run(words, env={**os.environ, "LARMOR_DECODER": decoder}, check=True, stdout=subprocess.PIPE).stdout
    return spent() - before, json.loads(out)["mean_ms_per_volume"]["load"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--reads", type=int, default=600)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    decoders = {"here": "none", "apart": str(pathlib.Path(program).parent / "larmor-decode")}
    repeats = max(1, arguments.reads // READS_A_REPEAT)
    file = pathlib.Path(arguments.file)
    kind, suffix = KINDS.get(file.suffix, "dicom"), ".nii.gz" if file.suffix == ".gz" else file.suffix or ".dcm"
    processor, clock = {name: [] for name in decoders}, {name: [] for name in decoders}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(3):
            (pathlib.Path(folder) / f"p{number}").mkdir()
            shutil.copy(file, pathlib.Path(folder) / f"p{number}" / f"image{suffix}")
        for _ in range(arguments.pairs):
            for name, decoder in decoders.items():
                few, _ = run(program, folder, kind, decoder, 1)
                many, load_ms = run(program, folder, kind, decoder, repeats + 1)  # the difference is reading alone
                processor[name].append(1000 * (many - few) / (repeats * READS_A_REPEAT))
                clock[name].append(load_ms)
    print(json.dumps({"processor_ms": {name: round(statistics.median(times), 3) for name, times in processor.items()},
                      "clock_ms": {name: round(statistics.median(times), 3) for name, times in clock.items()},
                      "processor_ms_of_all": processor}))


if __name__ == "__main__":
    main()
