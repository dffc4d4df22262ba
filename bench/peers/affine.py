"""Times MONAI's RandAffine (trilinear, every time) on the .npy volumes of a folder, one thread; one JSON line.

  python3 bench/peers/affine.py FOLDER [--repeats 20]
"""
import argparse
import json
import pathlib
import statistics
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=20)
    run = parser.parse_args()
    import monai
    import numpy
    import torch
    from monai.transforms import RandAffine

    torch.set_num_threads(1)
    milliseconds = {}
    for cached in (False, True):
        times = []
        for path in sorted(run.folder.rglob("*.npy")):
            volume = torch.from_numpy(numpy.load(path))[None]
            turn = RandAffine(prob=1.0, rotate_range=(0.3, 0.3, 0.3), scale_range=(0.1, 0.1, 0.1), mode="bilinear",
                              padding_mode="border", cache_grid=cached, spatial_size=volume.shape[1:])
            turn(volume)
            for _ in range(run.repeats):
                start = time.perf_counter()
                turn(volume)
                times.append((time.perf_counter() - start) * 1e3)
        milliseconds["cache_grid" if cached else "plain"] = statistics.median(times)
    print(json.dumps({"result": milliseconds, "monai": monai.__version__, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
