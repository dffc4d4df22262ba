"""Times what torchvision's usual transform does to radiographs, with the libraries behind it (Pillow, PyTorch): open,
one channel, 224 by 224 by Pillow's antialiased bilinear, to a tensor, normalised. Once as usual, and once with Pillow's
`draft`, which decodes JPEG at a half, a quarter or an eighth of its size. One thread; one JSON line.

  python3 bench/peers/pictures.py FOLDER [--repeats 5]
"""
import argparse
import json
import pathlib
import statistics
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=5)
    run = parser.parse_args()
    import numpy
    import PIL
    import torch
    from PIL import Image

    torch.set_num_threads(1)
    files = sorted(path for path in run.folder.rglob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
    size = (224, 224)
    times = {way: {path: [] for path in files} for way in ("pillow", "pillow_draft")}
    for repeat in range(run.repeats + 1):  # the first one fetches the files
        for path in files:
            for way, of_files in times.items():
                start = time.perf_counter()
                image = Image.open(path)
                if way == "pillow_draft":
                    image.draft("L", size)
                small = image.convert("L").resize(size, Image.Resampling.BILINEAR)
                torch.from_numpy(numpy.asarray(small, dtype=numpy.float32)[None]).div_(255).sub_(0.5).div_(0.5)
                if repeat:
                    of_files[path].append((time.perf_counter() - start) * 1e3)
    means = {way: statistics.mean(statistics.median(values) for values in of_files.values())
             for way, of_files in times.items()}
    print(json.dumps({"result": means, "pictures": len(files), "pillow": PIL.__version__, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
