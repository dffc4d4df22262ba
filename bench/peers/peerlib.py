"""What the peers' scripts share: threads, versions, a training step, timing in turn, MONAI's models, losses.

The models are MONAI's own; only the losses that a trainer writes by hand are written here.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import time


def setup(threads):
    """Fixes the number of computing threads. To be called before the first operation of torch."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["MKL_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    return torch


def versions():
    import monai
    import numpy
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__, "monai": monai.__version__,
            "numpy": numpy.__version__, "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(), "cores": len(os.sched_getaffinity(0))}


def peak_rss_mib():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def emit(**line):
    print(json.dumps(line), flush=True)


def gemm_gflops(n=1024, repeats=5):
    """The best of a few products of n × n matrices: tells whether the machine was quiet."""
    import torch

    a, b = torch.randn(n, n), torch.randn(n, n)
    a @ b
    best = 1e9
    for _ in range(repeats):
        t = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - t)
    return round(2 * n**3 / best / 1e9, 1)


def summary(blocks):
    """Milliseconds a step of each block to median, minimum and quartiles."""
    b = sorted(blocks)
    q = statistics.quantiles(b, n=4) if len(b) > 1 else [b[0]] * 3
    return {"median_ms": round(statistics.median(b), 3), "min_ms": round(b[0], 3),
            "q1_ms": round(q[0], 3), "q3_ms": round(q[2], 3), "blocks": len(b)}


def interleave(steps, blocks, per_block, warmup):
    """steps: {name: callable}. Times them in turn, the order reversed on every other block."""
    first = {}
    for name, step in steps.items():
        t = time.perf_counter()
        step()
        first[name] = round(time.perf_counter() - t, 3)
        for _ in range(max(0, warmup - 1)):
            step()
    ms = {name: [] for name in steps}
    order = list(steps)
    for b in range(blocks):
        for name in order if b % 2 == 0 else reversed(order):
            t = time.perf_counter()
            for _ in range(per_block):
                steps[name]()
            ms[name].append((time.perf_counter() - t) * 1e3 / per_block)
    return {name: {**summary(ms[name]), "first_step_s": first[name]} for name in steps}


def arguments(doc, modes, blocks=5, steps=1, warmup=2):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--modes", default=",".join(modes))
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--blocks", type=int, default=blocks)
    ap.add_argument("--steps", type=int, default=steps, help="steps a block")
    ap.add_argument("--warmup", type=int, default=warmup)
    return ap


def run_arguments(doc):
    """Of a whole run that trainers.py stops and starts again."""
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--folder", type=pathlib.Path, required=True)
    ap.add_argument("--steps", type=int, default=12)
    ap.add_argument("--save-every", type=int, default=5)
    return ap.parse_args()


def time_modes(script, a, make_step, **info):
    """Makes one step for each mode of `a` by make_step(torch, a, mode), times them in turn and prints one JSON line."""
    torch = setup(a.threads)
    imported = peak_rss_mib()
    before = gemm_gflops()
    steps = {m: make_step(torch, a, m) for m in a.modes.split(",")}
    out = interleave(steps, a.blocks, a.steps, a.warmup)
    for m, s in steps.items():
        out[m]["loss_after"] = round(float(s.state["loss"]), 5)
    timing = ("modes", "threads", "blocks", "steps", "warmup")
    asked = {key: value for key, value in vars(a).items() if key not in timing}
    emit(script=script, **asked, **info, parameters=next(iter(steps.values())).parameters, result=out, import_rss_mib=imported,
         peak_rss_mib=peak_rss_mib(), gemm_gflops=[before, gemm_gflops()], versions=versions())


# ---------------------------------------------------------------- a step

def memory_format(torch, mode):
    if "channels_last_3d" in mode:
        return torch.channels_last_3d
    return torch.channels_last if "channels_last" in mode else torch.contiguous_format


def autocast(mode):
    """Autocast to bf16 for every mode with bf16 in its name, else nothing."""
    import torch

    return torch.autocast("cpu", dtype=torch.bfloat16, enabled="bf16" in mode)


def training_step(torch, net, optimizer, loss, mode, clip=0.0):
    """A function that trains one step: loss(i) of step i under autocast, backward, the norm cut to `clip`, the optimizer.
    Its .state["loss"] is the last loss, its .parameters how many weights there are."""
    state = {"i": 0, "loss": 0.0}

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast(mode):
            value = loss(state["i"])
        state["i"] += 1
        value.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        state["loss"] = value.detach()

    step.state, step.parameters = state, sum(p.numel() for p in net.parameters())
    return step


def compiled(torch, function, mode):
    return torch.compile(function) if "compile" in mode else function


# ---------------------------------------------------------------- models and losses

AE = {
    "small": dict(channels=(16, 32, 64), num_res_blocks=(1, 1, 1), norm_num_groups=8, latent_channels=4),
    "medium": dict(channels=(64, 128, 256), num_res_blocks=(2, 2, 2), norm_num_groups=32, latent_channels=8),
}
AE_SHAPE = {"small": (2, 1, 48, 48, 48), "medium": (1, 1, 32, 32, 32)}
DISC_CHANNELS = {"small": 16, "medium": 32}


def autoencoder(name):
    from monai.networks.nets import AutoencoderKL

    return AutoencoderKL(spatial_dims=3, in_channels=1, out_channels=1, attention_levels=(False,) * 3, norm_eps=1e-6,
                         with_encoder_nonlocal_attn=False, with_decoder_nonlocal_attn=False, **AE[name])


def discriminator(channels):
    from monai.networks.nets import PatchDiscriminator

    return PatchDiscriminator(spatial_dims=3, num_layers_d=3, channels=channels, in_channels=1, out_channels=1,
                              norm="INSTANCE")


def kl_loss(mu, sigma):
    """The form of MONAI's tutorial: the sum over all elements, divided by the batch size."""
    import torch

    s2 = sigma * sigma
    return 0.5 * torch.sum(mu * mu + s2 - torch.log(s2) - 1) / mu.shape[0]


def autoencoder_loss(model, x, kl_weight=1e-7):
    recon, mu, sigma = model(x)
    return (recon - x).abs().mean() + kl_weight * kl_loss(mu, sigma), recon


def cox_loss(eta, time_, event, ties="breslow"):
    """The negative log partial likelihood divided by the number of events; ties by Breslow or Efron."""
    import torch

    eta, event = eta.flatten(), event.flatten().to(eta.dtype)
    at_risk = (time_[None, :] >= time_[:, None]).to(eta.dtype)  # row i: who is at risk at t_i
    shift = eta.max().detach()
    w = torch.exp(eta - shift)
    denom = at_risk @ w
    if ties == "efron":
        same = (time_[None, :] == time_[:, None]).to(eta.dtype) * event[None, :] * event[:, None]
        d = same.sum(1).clamp(min=1)
        rank = torch.tril(same, -1).sum(1)  # 0, 1, ... within each group of tied events
        denom = denom - rank / d * (same @ w)
    return -(event * (eta - shift - torch.log(denom))).sum() / event.sum().clamp(min=1)
