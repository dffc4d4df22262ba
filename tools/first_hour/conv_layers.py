"""The distinct convolutions of the five networks at the guides' sizes, those that matter most first."""

import dataclasses


@dataclasses.dataclass
class Layer:
    """A convolution of `space` voxels an axis, padded so that stride 1 keeps them."""
    name: str
    batch: int
    channels: int
    out: int
    space: tuple
    taps: tuple = (3, 3, 3)
    stride: int = 1
    first: bool = False  # nobody asks for the gradient of its input

    def padding(self):
        return [tap // 2 if self.stride == 1 or tap % 2 else 1 for tap in self.taps]

    def out_space(self):
        return [(n + 2 * p - t) // self.stride + 1 for n, p, t in zip(self.space, self.padding(), self.taps)]


FULL, HALF, QUARTER = (112, 128, 80), (56, 64, 40), (28, 32, 20)
CUBE, CUBE2, CUBE4 = (128,) * 3, (64,) * 3, (32,) * 3
LATENT, LATENT2, LATENT4 = (36, 44, 28), (18, 22, 14), (9, 11, 7)
CHEST, CHEST2, CHEST4, CHEST8, CHEST16 = (256, 256, 64), (128, 128, 32), (64, 64, 16), (32, 32, 8), (16, 16, 4)
POINT, STEM, PATCH = (1, 1, 1), (7, 7, 7), (4, 4, 4)

LAYERS = [
    Layer("autoencoder first", 2, 1, 64, FULL, first=True),
    Layer("autoencoder full", 2, 64, 64, FULL),
    Layer("autoencoder half", 2, 128, 128, HALF),
    Layer("autoencoder quarter", 2, 256, 256, QUARTER),
    Layer("autoencoder last", 2, 64, 1, FULL),
    Layer("resnet stem", 6, 1, 64, CHEST, STEM, first=True),
    Layer("autoencoder first, of 8", 2, 8, 64, FULL, first=True),
    Layer("resnet stem, innermost of 8", 6, 8, 64, CHEST, (7, 7, 1), first=True),
    Layer("fast_ddpm full", 1, 64, 64, CUBE),
    Layer("fast_ddpm half", 1, 128, 128, CUBE2),
    Layer("fast_ddpm quarter", 1, 256, 256, CUBE4),
    Layer("fast_ddpm joined full", 1, 192, 64, CUBE),
    Layer("fast_ddpm joined half", 1, 384, 128, CUBE2),
    Layer("diffusion", 3, 256, 256, LATENT),
    Layer("diffusion joined", 3, 512, 256, LATENT),
    Layer("diffusion quarter", 3, 512, 512, LATENT4),
    Layer("resnet 3 of 64", 6, 64, 64, CHEST2),
    Layer("resnet 1 to 256", 6, 64, 256, CHEST2, POINT),
    Layer("resnet 1 of 256", 6, 256, 64, CHEST2, POINT),
    Layer("resnet 3 of 128", 6, 128, 128, CHEST4),
    Layer("autoencoder down", 2, 64, 64, FULL, stride=2),
    Layer("autoencoder 128 to 64", 2, 128, 64, FULL),
    Layer("autoencoder 64 to 128", 2, 64, 128, HALF),
    Layer("autoencoder 256 to 128", 2, 256, 128, HALF),
    Layer("autoencoder 128 to 256", 2, 128, 256, QUARTER),
    Layer("discriminator first", 2, 1, 32, FULL, PATCH, 2),
    Layer("discriminator 32", 2, 32, 64, HALF, PATCH, 2),
    Layer("discriminator 64", 2, 64, 128, QUARTER, PATCH, 2),
    Layer("fast_ddpm joined full of 128", 1, 128, 64, CUBE),
    Layer("fast_ddpm joined quarter", 1, 512, 256, CUBE4),
    Layer("fast_ddpm first", 1, 4, 64, CUBE, first=True),
    Layer("fast_ddpm down", 1, 64, 64, CUBE, stride=2),
    Layer("diffusion half", 3, 256, 256, LATENT2),
    Layer("diffusion joined half", 3, 768, 256, LATENT2),
    Layer("diffusion joined quarter", 3, 1024, 512, LATENT4),
    Layer("diffusion first", 3, 8, 256, LATENT, first=True),
    Layer("diffusion shortcut", 3, 512, 256, LATENT, POINT),
    Layer("resnet 1 to 512", 6, 128, 512, CHEST4, POINT),
    Layer("resnet 3 of 256", 6, 256, 256, CHEST8),
    Layer("resnet 3 of 512", 6, 512, 512, CHEST16),
    Layer("cascade1 full", 8, 64, 64, CUBE2),
    Layer("cascade2 full", 4, 64, 64, CUBE),
    Layer("cascade2 half", 4, 128, 128, CUBE2),
    Layer("autoencoder latent", 2, 256, 8, QUARTER),
]
# The voxels before they are doubled: (name, batch, channels, space).
UPSAMPLINGS = [("autoencoder 256", 2, 256, QUARTER), ("autoencoder 128", 2, 128, HALF),
               ("fast_ddpm 256", 1, 256, CUBE4), ("fast_ddpm 128", 1, 128, CUBE2)]
