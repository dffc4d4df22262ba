"""Times one training step of MONAI's DiffusionModelUNet on latents.

Four channels of 16 cubed, batch 4, channels 32, 64, 64, one residual block, attention on the last level, heads of width 32.
Step = noise, add_noise (scaled_linear 0.0015 to 0.0195), forward, mean square, backward, fused Adam.

  python bench/peers/unet_step.py --threads 2 --modes eager,bf16,bf16_channels_last_3d
"""
import peerlib as P

MODES = ("eager", "channels_last_3d")  # also: compile, bf16, and both with _channels_last_3d
NETWORK = dict(in_channels=4, out_channels=4, channels=(32, 64, 64), attention_levels=(False, False, True),
               num_head_channels=(0, 0, 32), num_res_blocks=1, norm_num_groups=32)


def make_step(torch, a, mode, network=NETWORK, space=None, clip=0.0):
    """a: batch, side, flash. `space`: voxels of a latent in place of the cube of that side."""
    from monai.networks.nets import DiffusionModelUNet
    from monai.networks.schedulers import DDPMScheduler

    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    net = DiffusionModelUNet(spatial_dims=3, use_flash_attention=a.flash, **network).to(memory_format=fmt)
    noises = DDPMScheduler(num_train_timesteps=1000, schedule="scaled_linear_beta", beta_start=0.0015, beta_end=0.0195)
    opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)
    shape = (a.batch, network["in_channels"], *(space or (a.side,) * 3))
    data = [torch.randn(shape).to(memory_format=fmt) for _ in range(4)]
    run = P.compiled(torch, lambda x, noise, t: torch.nn.functional.mse_loss(
        net(noises.add_noise(x, noise, t), timesteps=t).float(), noise), mode)

    def loss(i):
        x = data[i % len(data)]
        return run(x, torch.randn_like(x), torch.randint(0, 1000, (a.batch,)))

    return P.training_step(torch, net, opt, loss, mode, clip)


def main():
    ap = P.arguments(__doc__, MODES, blocks=9, steps=5, warmup=3)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--side", type=int, default=16)
    ap.add_argument("--flash", action="store_true", help="MONAI's use_flash_attention")
    P.time_modes("unet_step", ap.parse_args(), make_step)


if __name__ == "__main__":
    main()
