"""Times ten-step sampling of one volume: the network of fast_ddpm_step.py, the generalized sampler (DDIM without noise) at
the 3-D fork's times 0, 100, …, 900.

  python bench/peers/fast_ddpm_sampling.py --threads 2 --side 64 --blocks 5
"""
import peerlib as P

MODES = ("eager", "channels_last_3d")  # also: compile, bf16, and both with _channels_last_3d
TIMES = range(900, -1, -100)
TARGET = 3  # the modality that is missing


def make_volume(torch, a, mode):
    """A function that samples one volume."""
    import fast_ddpm_network

    torch.manual_seed(0)
    layout = P.memory_format(torch, mode)
    net = fast_ddpm_network.FastDDPM(a.ch, (1, 2), 1).eval().to(memory_format=layout)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
    image = (torch.rand(1, 4, a.side, a.side, a.side) * 2 - 1).to(memory_format=layout)
    denoise = P.compiled(torch, net, mode)
    state = {"loss": 0.0}

    @torch.inference_mode()
    def volume():
        x = torch.randn(1, 1, a.side, a.side, a.side)
        seen = image.clone(memory_format=layout)
        for time, before in zip(TIMES, [*TIMES[1:], None]):
            seen[:, TARGET:TARGET + 1] = x
            with P.autocast(mode):
                epsilon = denoise(seen, torch.tensor([time])).float()
            here = float(kept[time])
            there = 1.0 if before is None else float(kept[before])
            x0 = (x - epsilon * (1 - here) ** 0.5) / here ** 0.5
            x = there ** 0.5 * x0 + (1 - there) ** 0.5 * epsilon
        state["loss"] = x.clamp(-1, 1).mean()

    volume.state, volume.parameters = state, sum(p.numel() for p in net.parameters())
    return volume


def main():
    ap = P.arguments(__doc__, MODES, blocks=3, steps=1, warmup=1)
    ap.add_argument("--ch", type=int, default=32)
    ap.add_argument("--side", type=int, default=64)
    P.time_modes("fast_ddpm_sampling", ap.parse_args(), make_volume)


if __name__ == "__main__":
    main()
