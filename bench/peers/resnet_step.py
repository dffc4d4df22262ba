"""Times one training step of MONAI's 3D ResNet with Cox's loss (1 channel, 1 output, fused Adam).

  python bench/peers/resnet_step.py --threads 2 --depth 18 --ties efron
"""
import peerlib as P

MODES = ("eager", "channels_last_3d")  # also: compile, bf16, and both with _channels_last_3d


def make_step(torch, a, mode):
    import monai.networks.nets as nets

    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    net = getattr(nets, f"resnet{a.depth}")(spatial_dims=3, n_input_channels=1, num_classes=1).to(memory_format=fmt)
    opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)
    data = [torch.rand(a.batch, 1, *a.image).to(memory_format=fmt) for _ in range(4)]
    time_ = torch.tensor([5.0, 3.0, 5.0, 8.0] * a.batch)[: a.batch]
    event = torch.tensor([1.0, 0.0, 1.0, 1.0] * a.batch)[: a.batch]
    run = P.compiled(torch, lambda x: P.cox_loss(net(x), time_, event, a.ties), mode)
    return P.training_step(torch, net, opt, lambda i: run(data[i % len(data)]), mode)


def main():
    ap = P.arguments(__doc__, MODES, steps=2)
    ap.add_argument("--depth", type=int, default=18)
    ap.add_argument("--ties", choices=("breslow", "efron"), default="breslow")
    ap.add_argument("--image", type=int, nargs=3, default=(64, 64, 32))
    ap.add_argument("--batch", type=int, default=4)
    P.time_modes("resnet_step", ap.parse_args(), make_step)


if __name__ == "__main__":
    main()
