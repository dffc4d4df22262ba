"""Times one training step of Fast-DDPM's 3-D network (three modalities to the fourth).

Step = a missing modality for each volume, antithetic times of the list, noise, forward, mean square, backward, clip 1.0,
fused Adam.

  python bench/peers/fast_ddpm_step.py --threads 2
  python bench/peers/fast_ddpm_step.py --ch 64 --mult 1,2,4 --res-blocks 2 --side 64 --batch 1
"""
import peerlib as P

MODES = ("eager", "channels_last_3d", "bf16", "bf16_channels_last_3d")


def make_step(torch, a, mode):
    """a: ch, mult, res_blocks, side, batch."""
    import fast_ddpm_network

    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    mult = tuple(int(m) for m in a.mult.split(","))
    net = fast_ddpm_network.FastDDPM(a.ch, mult, a.res_blocks, dropout=0.1).to(memory_format=fmt)
    opt = torch.optim.Adam(net.parameters(), lr=1e-5, fused=True)
    abar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0).float()
    times = torch.tensor(fast_ddpm_network.TIMES)
    data = [(torch.rand(a.batch, 4, a.side, a.side, a.side) * 2 - 1).to(memory_format=fmt) for _ in range(4)]
    rows = torch.arange(a.batch)
    run = P.compiled(torch, net, mode)

    def loss(i):
        x = data[i % len(data)].clone(memory_format=fmt)
        k = torch.randint(0, 4, (a.batch,))
        half = torch.randint(0, len(times), (a.batch // 2 + 1,))
        t = times[torch.cat([half, len(times) - 1 - half])[:a.batch]]
        x0 = x[rows, k]
        noise = torch.randn_like(x0)
        q = abar[t].view(-1, 1, 1, 1)
        x[rows, k] = q.sqrt() * x0 + (1 - q).sqrt() * noise
        return torch.nn.functional.mse_loss(run(x, t)[:, 0].float(), noise)

    return P.training_step(torch, net, opt, loss, mode, clip=1.0)


def main():
    ap = P.arguments(__doc__, MODES)
    ap.add_argument("--ch", type=int, default=32)
    ap.add_argument("--mult", default="1,2")
    ap.add_argument("--res-blocks", type=int, default=1)
    ap.add_argument("--side", type=int, default=32)
    ap.add_argument("--batch", type=int, default=2)
    P.time_modes("fast_ddpm_step", ap.parse_args(), make_step)


if __name__ == "__main__":
    main()
