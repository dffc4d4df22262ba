"""Trains MONAI's AutoencoderKL (small) on real heads for a budget of seconds and reports as it goes.

Data: every *.nii.gz under DATA/<a head's folder>/ that is no mask. Split by folder: no folder is on both sides.
Preparation (kept in memory): LoadImage, channel first, RAS, Spacing 2 mm bilinear; then a crop of 48 cubed (random for
training, from the centre for validation) and percentile scaling 0..99.5 to 0..1 of the crop, as in MONAI's tutorial.
Loss: L1 + 1e-7 KL, a sampled latent; fused Adam, warm-up then cosine over the budget. Scores: reconstruction from the mean,
mean over volumes, MONAI's PSNR (max 1) and SSIM (3D, Gaussian 11, range 1). The clock includes the validations; it starts
when the data are in memory.

  python bench/peers/train_autoencoder.py DATA --budget 600 --threads 2
"""
import argparse
import math
import pathlib
import time
import warnings

import peerlib as P

warnings.filterwarnings("ignore")


def parsed():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data", help="folder with one folder a head")
    ap.add_argument("--val", nargs="+", default=["tcga_fg_6692", "cstar_stroke"], help="folders of validation")
    ap.add_argument("--budget", type=float, default=600, help="seconds of training, validations included")
    ap.add_argument("--max-steps", type=int, default=10**9)
    ap.add_argument("--every", type=float, default=60, help="seconds between reports")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--mode", choices=("eager", "channels_last_3d", "compile"), default="eager")
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--batch", type=int, default=2)
    ap.add_argument("--crop", type=int, default=48)
    ap.add_argument("--spacing", type=float, default=2.0)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--save", help="write the weights here as safetensors")
    return ap.parse_args()


class Heads:
    """Prepared training volumes, and the centre crops of validation."""

    def __init__(self, torch, a):
        import monai.transforms as T

        files = [p for p in sorted(pathlib.Path(a.data).glob("*/*.nii.gz"))
                 if "lesion" not in p.name and "seg" not in p.name]
        val_files = [p for p in files if p.parent.name in a.val]
        train_files = [p for p in files if p.parent.name not in a.val]
        assert val_files and train_files
        begun = time.perf_counter()
        prepare = T.Compose([T.LoadImage(image_only=True), T.EnsureChannelFirst(), T.Orientation("RAS"),
                             T.Spacing((a.spacing,) * 3, mode="bilinear")])
        self.scale = T.ScaleIntensityRangePercentiles(0, 99.5, 0, 1)
        size = (a.crop,) * 3
        self.random_crop = T.RandSpatialCrop(size, random_size=False).set_random_state(a.seed)
        self.center_crop = T.CenterSpatialCrop(size)
        self.train = [prepare(str(p)) for p in train_files]
        self.val = torch.stack([self.centre(prepare(str(p))) for p in val_files])
        self.pick = torch.Generator().manual_seed(a.seed)
        P.emit(event="data", train=[p.name for p in train_files], val=[p.name for p in val_files], val_folders=a.val,
               prepare_s=round(time.perf_counter() - begun, 2), val_shape=list(self.val.shape), args=vars(a), versions=P.versions())

    def centre(self, volume):
        return self.scale(self.center_crop(volume)).as_tensor()

    def batch(self, torch, a):
        rows = torch.randint(len(self.train), (a.batch,), generator=self.pick).tolist()
        x = torch.stack([self.scale(self.random_crop(self.train[i])).as_tensor() for i in rows])
        return x.contiguous(memory_format=P.memory_format(torch, a.mode))


def scores(heads):
    """A function that scores a reconstruction of the validation crops."""
    from monai.metrics import PSNRMetric, SSIMMetric

    psnr, ssim = PSNRMetric(max_val=1.0, reduction="none"), SSIMMetric(spatial_dims=3, data_range=1.0, reduction="none")

    def score(pred):
        return {"val_l1": round(float((pred - heads.val).abs().mean()), 6),
                "val_psnr": round(float(psnr(pred, heads.val).mean()), 4),
                "val_ssim": round(float(ssim(pred, heads.val).mean()), 5)}

    return score


def report_baselines(torch, a, heads, score):
    F = torch.nn.functional
    up = dict(size=(a.crop,) * 3, mode="trilinear", align_corners=False)
    down = F.interpolate(heads.val, scale_factor=0.25, mode="trilinear", antialias=False)
    mean_volume = torch.stack([heads.centre(v) for v in heads.train]).mean(0, keepdim=True)
    P.emit(event="baseline", name="trilinear_down4_up4", **score(F.interpolate(down, **up)))
    P.emit(event="baseline", name="average_pool4_trilinear_up4", **score(F.interpolate(F.avg_pool3d(heads.val, 4), **up)))
    P.emit(event="baseline", name="mean_of_training_centre_crops", **score(mean_volume.expand_as(heads.val)))
    P.emit(event="baseline", name="zero", **score(torch.zeros_like(heads.val)))


def validation(torch, net, heads, score):
    net.eval()
    with torch.no_grad():
        pred = torch.cat([net.reconstruct(v[None]) for v in heads.val])
    net.train()
    return score(pred)


def set_rate(opt, a, step, seconds):
    over = min(1.0, max(seconds / a.budget, step / a.max_steps))
    for group in opt.param_groups:
        group["lr"] = a.lr * min(1.0, (step + 1) / 20) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * over)))


def train(torch, a, net, heads, score):
    loss_fn = P.compiled(torch, P.autoencoder_loss, a.mode)
    opt = torch.optim.Adam(net.parameters(), lr=a.lr, fused=True)
    P.emit(event="score", seconds=0.0, step=0, train_l1=None, **validation(torch, net, heads, score))
    begun = time.perf_counter()
    step, l1, data_s, next_report = 0, [], 0.0, a.every
    while True:
        now = time.perf_counter() - begun
        done = now >= a.budget or step >= a.max_steps
        if done or now >= next_report:
            P.emit(event="score", seconds=round(now, 1), step=step, lr=opt.param_groups[0]["lr"],
                   train_l1=round(sum(l1) / max(len(l1), 1), 6), **validation(torch, net, heads, score))
            l1.clear()
            next_report += a.every
        if done:
            return step, time.perf_counter() - begun, data_s
        before = time.perf_counter()
        x = heads.batch(torch, a)
        data_s += time.perf_counter() - before
        set_rate(opt, a, step, now)
        opt.zero_grad(set_to_none=True)
        loss, recon = loss_fn(net, x)
        loss.backward()
        opt.step()
        l1.append(float((recon.detach() - x).abs().mean()))
        step += 1


def main():
    a = parsed()
    torch = P.setup(a.threads)
    torch.manual_seed(a.seed)
    heads = Heads(torch, a)
    score = scores(heads)
    report_baselines(torch, a, heads, score)
    net = P.autoencoder("small").to(memory_format=P.memory_format(torch, a.mode))
    step, seconds, data_s = train(torch, a, net, heads, score)
    P.emit(event="end", steps=step, seconds=round(seconds, 1), ms_per_step=round(1e3 * seconds / max(step, 1), 1),
           data_share=round(data_s / seconds, 4), peak_rss_mib=P.peak_rss_mib(),
           parameters=sum(p.numel() for p in net.parameters()))
    if a.save:
        from safetensors.torch import save_file

        save_file({k: v.contiguous() for k, v in net.state_dict().items()}, a.save)


if __name__ == "__main__":
    main()
