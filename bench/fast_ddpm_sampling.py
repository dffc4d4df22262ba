"""Ten-step sampling of one volume in PyTorch: the network of the peers' fast_ddpm_step.py with 32 channels, the
generalized sampler (DDIM without noise) at the 3-D fork's times 0, 100, …, 900. Milliseconds a volume, by layout.

  python bench/fast_ddpm_sampling.py --peers PEERS --threads 2 --side 64 --blocks 5
"""
import argparse
import pathlib
import sys

MODES = ("eager", "channels_last_3d")  # also: compile, compile_channels_last_3d, bf16, …
TIMES = range(900, -1, -100)
TARGET = 3  # the modality that is missing


def make_volume(torch, network, autocast, a, mode):
    """A function that samples one volume, shaped as peerlib's interleave() wants a step."""
    torch.manual_seed(0)
    layout = torch.channels_last_3d if "channels_last" in mode else torch.contiguous_format
    net = network.build(a.ch, (1, 2), 1).eval().to(memory_format=layout)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
    image = (torch.rand(1, 4, a.side, a.side, a.side) * 2 - 1).to(memory_format=layout)
    denoise = torch.compile(net) if "compile" in mode else net
    state = {"loss": 0.0}

    @torch.inference_mode()
    def volume():
        x = torch.randn(1, 1, a.side, a.side, a.side)
        seen = image.clone(memory_format=layout)
        for time, before in zip(TIMES, [*TIMES[1:], None]):
            seen[:, TARGET:TARGET + 1] = x
            with autocast(mode):
                epsilon = denoise(seen, torch.tensor([time])).float()
            here = float(kept[time])
            there = 1.0 if before is None else float(kept[before])
            x0 = (x - epsilon * (1 - here) ** 0.5) / here ** 0.5
            x = there ** 0.5 * x0 + (1 - there) ** 0.5 * epsilon
        state["loss"] = x.clamp(-1, 1).mean()

    volume.state, volume.parameters = state, sum(p.numel() for p in net.parameters())
    return volume


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, type=pathlib.Path)
    parser.add_argument("--ch", type=int, default=32)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=3, help="timed volumes of each mode, in turn")
    a = parser.parse_args()
    sys.path.insert(0, str(a.peers))
    import fast_ddpm_step
    import peerlib

    torch = peerlib.setup(a.threads)
    volumes = {mode: make_volume(torch, fast_ddpm_step, peerlib.autocast, a, mode) for mode in a.modes.split(",")}
    result = peerlib.interleave(volumes, a.blocks, 1, 1)
    peerlib.emit(script="fast_ddpm_sampling", side=a.side, steps=len(TIMES), ch=a.ch,
                 parameters=next(iter(volumes.values())).parameters, result=result,
                 peak_rss_mib=peerlib.peak_rss_mib(), versions=peerlib.versions())


if __name__ == "__main__":
    main()
