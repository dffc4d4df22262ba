"""Times MONAI's loading chain on NIfTI volumes, stage by stage, and nibabel alone.

LoadImage -> EnsureChannelFirst -> Orientation RAS -> Spacing (bilinear) -> crop -> percentile scaling
(0..99.5 -> 0..1), the chain of MONAI's 3d_ldm tutorial. Volumes are every *.nii.gz under DATA whose name
holds neither "lesion" nor "seg". Files are read once before, so the page cache is warm.

  python bench/peers/load_chain.py DATA --threads 1
"""
import argparse
import pathlib
import statistics
import time
import warnings

import peerlib as P

warnings.filterwarnings("ignore")


def volumes(folder):
    return [p for p in sorted(pathlib.Path(folder).rglob("*.nii.gz")) if "lesion" not in p.name and "seg" not in p.name]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--pixdim", type=float, default=1.1)
    ap.add_argument("--crop", type=int, nargs=3, default=(112, 128, 80))
    ap.add_argument("--center", action="store_true", help="CenterSpatialCrop instead of RandSpatialCrop")
    ap.add_argument("--repeats", type=int, default=5)
    ap.add_argument("--per-volume", action="store_true", help="also print the medians of every volume")
    a = ap.parse_args()
    P.setup(a.threads)
    import monai.transforms as T
    import nibabel
    import numpy as np

    crop = T.CenterSpatialCrop(a.crop) if a.center else T.RandSpatialCrop(a.crop, random_size=False)
    if not a.center:
        crop.set_random_state(0)
    stages = [("load", T.LoadImage(image_only=True)), ("channel_first", T.EnsureChannelFirst()),
              ("orientation", T.Orientation(axcodes="RAS")),
              ("spacing", T.Spacing(pixdim=(a.pixdim,) * 3, mode="bilinear")), ("crop", crop),
              ("percentile", T.ScaleIntensityRangePercentiles(lower=0, upper=99.5, b_min=0, b_max=1))]
    names = ["nibabel_float32", "nibabel_get_fdata"] + [n for n, _ in stages] + ["chain"]
    files = volumes(a.data)
    rec = {f: {n: [] for n in names} for f in files}
    for r in range(a.repeats + 1):  # round 0 warms up
        for f in files:
            ms = {}
            t = time.perf_counter()
            np.asarray(nibabel.load(f).dataobj, dtype=np.float32)
            ms["nibabel_float32"] = time.perf_counter() - t
            t = time.perf_counter()
            nibabel.load(f).get_fdata()
            ms["nibabel_get_fdata"] = time.perf_counter() - t
            x, total = str(f), 0.0
            for n, tr in stages:
                t = time.perf_counter()
                x = tr(x)
                ms[n] = time.perf_counter() - t
                total += ms[n]
            ms["chain"] = total
            if r:
                for n in names:
                    rec[f][n].append(ms[n] * 1e3)
    med = {f: {n: statistics.median(v) for n, v in d.items()} for f, d in rec.items()}
    mean = {n: round(statistics.mean(m[n] for m in med.values()), 3) for n in names}
    out = dict(script="load_chain", volumes=len(files), repeats=a.repeats, pixdim=a.pixdim, crop=list(a.crop),
               crop_kind="center" if a.center else "random", mean_ms_per_volume=mean,
               total_ms_all_volumes=round(sum(m["chain"] for m in med.values()), 1),
               peak_rss_mib=P.peak_rss_mib(), nibabel=nibabel.__version__, versions=P.versions())
    if a.per_volume:
        out["per_volume_ms"] = {f.name: {n: round(v, 2) for n, v in m.items()} for f, m in med.items()}
    P.emit(**out)


if __name__ == "__main__":
    main()
