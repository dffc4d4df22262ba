"""Times one training step of one stage of a ViT cascade from radiographs to CT.

Step = noise, forward, mean square of the velocity + 0.3 of the projection's, backward, clip 1.0, fused AdamW.

  python bench/peers/cascade_step.py --size 32 --threads 2
  python bench/peers/cascade_step.py --size 64 --dim 96 --heads 6
"""
import peerlib as P

MODES = ("eager", "channels_last_3d", "bf16", "bf16_channels_last_3d")


def make_step(torch, a, mode):
    import cascade_network

    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    net = cascade_network.Cascade(a.size, a.dim, a.depth, a.heads)
    for m in net.modules():
        if isinstance(m, torch.nn.Conv3d):
            m.to(memory_format=fmt)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    ab = cascade_network.cosine()
    data = [(torch.rand(a.batch, 1, a.size, a.size, a.size) * 2 - 1, torch.rand(a.batch, 2, 1, a.xray, a.xray) * 2 - 1) for _ in range(4)]

    def loss(i):
        x, xr = data[i % len(data)]
        t, noise = torch.randint(0, 1000, (a.batch,)), torch.randn_like(x)
        d, p = cascade_network.losses(net, x.to(memory_format=fmt), xr, t, noise, ab)
        return d + 0.3 * p

    return P.training_step(torch, net, opt, loss, mode, clip=1.0)


def main():
    ap = P.arguments(__doc__, MODES)
    ap.add_argument("--size", type=int, default=32, choices=(32, 64, 128))
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--depth", type=int, default=2)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--xray", type=int, default=128)
    ap.add_argument("--batch", type=int, default=1)
    P.time_modes("cascade_step", ap.parse_args(), make_step)


if __name__ == "__main__":
    main()
