"""The network of Fast-DDPM's 3-D fork (three modalities to the fourth), written here from the published description, with
its parameter names.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

TIMES = (0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999)  # those that are trained


def norm(c):
    g = min(32, c)
    while c % g:
        g -= 1
    return nn.GroupNorm(g, c, eps=1e-6)


def conv(a, b, stride=1):
    return nn.Conv3d(a, b, 3, stride=stride, padding=1)


class Residual(nn.Module):
    def __init__(self, a, b, time_width, dropout):
        super().__init__()
        self.norm1, self.conv1, self.temb_proj = norm(a), conv(a, b), nn.Linear(time_width, b)
        self.norm2, self.dropout, self.conv2 = norm(b), nn.Dropout(dropout), conv(b, b)
        if a != b:
            self.nin_shortcut = nn.Conv3d(a, b, 1)

    def forward(self, x, e):
        h = self.conv1(F.silu(self.norm1(x))) + self.temb_proj(F.silu(e))[..., None, None, None]
        h = self.conv2(self.dropout(F.silu(self.norm2(h))))
        return h + (self.nin_shortcut(x) if hasattr(self, "nin_shortcut") else x)


class Level(nn.Module):
    """Blocks of one resolution, and the convolution that leads to the next."""

    def __init__(self, blocks, sampler="", channels=0, stride=1):
        super().__init__()
        self.block = nn.ModuleList(blocks)
        if sampler:
            setattr(self, sampler, nn.Module())
            getattr(self, sampler).conv = conv(channels, channels, stride)


class FastDDPM(nn.Module):
    """Volumes [B, 4, D, H, W] and times [B] to the noise [B, 1, D, H, W]."""

    def __init__(self, ch=32, mult=(1, 2), res_blocks=1, channels_in=4, channels_out=1, dropout=0.0):
        super().__init__()
        self.ch = ch
        self.temb = nn.Module()
        self.temb.dense = nn.ModuleList([nn.Linear(ch, 4 * ch), nn.Linear(4 * ch, 4 * ch)])
        self.conv_in = conv(channels_in, ch)

        def residual(a, b):
            return Residual(a, b, 4 * ch, dropout)

        widths, c, skips = [ch * m for m in mult], ch, [ch]
        self.down = nn.ModuleList()
        for i, w in enumerate(widths):
            blocks = [residual(c if n == 0 else w, w) for n in range(res_blocks)]
            last = i + 1 == len(widths)
            c = w
            skips += [w] * (res_blocks + (not last))
            self.down.append(Level(blocks) if last else Level(blocks, "downsample", c, 2))
        self.mid = nn.Module()
        self.mid.block_1, self.mid.block_2 = residual(c, c), residual(c, c)
        ups = []
        for i in reversed(range(len(widths))):
            blocks = []
            for _ in range(res_blocks + 1):
                blocks.append(residual(c + skips.pop(), widths[i]))
                c = widths[i]
            ups.insert(0, Level(blocks, "upsample", c) if i else Level(blocks))
        self.up = nn.ModuleList(ups)
        self.norm_out, self.conv_out = norm(c), conv(c, channels_out)

    def embed(self, t):
        half = self.ch // 2
        w = torch.exp(torch.arange(half, dtype=torch.float32) * (-math.log(10000) / (half - 1)))
        a = t.float()[:, None] * w[None]
        e = torch.cat([a.sin(), a.cos()], 1).to(self.conv_in.weight.dtype)
        return self.temb.dense[1](F.silu(self.temb.dense[0](e)))

    def forward(self, x, t):
        e = self.embed(t)
        h = self.conv_in(x)
        stack = [h]
        for level in self.down:
            for b in level.block:
                h = b(h, e)
                stack.append(h)
            if hasattr(level, "downsample"):
                h = level.downsample.conv(h)
                stack.append(h)
        h = self.mid.block_2(self.mid.block_1(h, e), e)
        for level in reversed(self.up):
            for b in level.block:
                h = b(torch.cat([h, stack.pop()], 1), e)
            if hasattr(level, "upsample"):
                h = level.upsample.conv(F.interpolate(h, scale_factor=2, mode="nearest"))
        return self.conv_out(F.silu(self.norm_out(h)))
