"""Times one training step of MONAI's AutoencoderKL.

Step = forward with sampling, L1 + 1e-7 KL (with --adversarial also the generator's and the discriminator's phase of
MONAI's 3d_ldm tutorial, weight 0.01), backward, fused Adam. All modes live in one process and are timed in turn; one mode
alone tells its peak of memory.

  python bench/peers/autoencoder_step.py --size small --threads 2
  python bench/peers/autoencoder_step.py --size medium --modes eager,compile --adversarial
"""
import peerlib as P

MODES = ("eager", "channels_last_3d")  # also: compile, bf16, and both with _channels_last_3d


def make_step(torch, a, mode, lr=1e-4):
    """a: size of peerlib.AE, adversarial."""
    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    net = P.autoencoder(a.size).to(memory_format=fmt)
    opt = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    data = [torch.rand(P.AE_SHAPE[a.size]).to(memory_format=fmt) for _ in range(4)]
    loss_fn = P.compiled(torch, P.autoencoder_loss, mode)
    if not a.adversarial:
        return P.training_step(torch, net, opt, lambda i: loss_fn(net, data[i % len(data)])[0], mode)

    from monai.losses import PatchAdversarialLoss

    disc = P.discriminator(P.DISC_CHANNELS[a.size]).to(memory_format=fmt)
    run_d = P.compiled(torch, disc, mode)
    adv = PatchAdversarialLoss(criterion="least_squares")
    seen = {}

    def judged(image):
        return run_d(image.contiguous(memory_format=fmt))[-1]

    def generator(i):
        seen["x"] = data[i % len(data)]
        loss, seen["recon"] = loss_fn(net, seen["x"])
        return loss + 0.01 * adv(judged(seen["recon"]), target_is_real=True, for_discriminator=False)

    def critic(_):
        fake = adv(judged(seen["recon"].detach()), target_is_real=False, for_discriminator=True)
        return 0.01 * 0.5 * (fake + adv(judged(seen["x"]), target_is_real=True, for_discriminator=True))

    train = P.training_step(torch, net, opt, generator, mode)
    train_critic = P.training_step(torch, disc, torch.optim.Adam(disc.parameters(), lr=lr, fused=True), critic, mode)

    def step():
        train()
        train_critic()

    step.state, step.parameters = train.state, train.parameters
    return step


def main():
    ap = P.arguments(__doc__, MODES, blocks=7, steps=3, warmup=3)
    ap.add_argument("--size", choices=list(P.AE), default="small")
    ap.add_argument("--adversarial", action="store_true")
    a = ap.parse_args()
    P.time_modes("autoencoder_step", a, make_step, shape=P.AE_SHAPE[a.size])


if __name__ == "__main__":
    main()
