"""One stage of a ViT cascade from radiographs to CT, written here from the published description, with its parameter
names. The lifting to depth is in its collapsed form, so the volume of 512 channels is never built.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

FEATURES = 512  # channels of the encoded radiographs
CONDITION = 1024


def attend(q, k, v, heads):
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj, self.drop = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim), nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.proj(attend(*self.qkv(x).chunk(3, -1), self.heads)))


class CrossAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.q, self.kv = nn.Linear(dim, dim, bias=False), nn.Linear(FEATURES, 2 * dim, bias=False)
        self.proj, self.drop = nn.Linear(dim, dim), nn.Dropout(dropout)

    def forward(self, x, tokens):
        return self.drop(self.proj(attend(self.q(x), *self.kv(tokens).chunk(2, -1), self.heads)))


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.adaln = nn.Module()
        self.adaln.linear = nn.Linear(CONDITION, 6 * dim)
        nn.init.zeros_(self.adaln.linear.weight), nn.init.zeros_(self.adaln.linear.bias)
        self.self_attn, self.cross_attn = SelfAttention(dim, heads, dropout), CrossAttention(dim, heads, dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * dim, dim), nn.Dropout(dropout))

    def forward(self, x, tokens, cond):
        b1, g1, a1, b2, g2, a2 = self.adaln.linear(cond)[:, None].chunk(6, -1)
        x = x + a1 * self.self_attn((1 + g1) * self.norm1(x) + b1)
        x = x + self.cross_attn(self.norm2(x), tokens)
        return x + a2 * self.mlp((1 + g2) * self.norm3(x) + b2)


class Backbone(nn.Module):
    def __init__(self, size, dim, depth, heads, dropout):
        super().__init__()
        self.size = size
        layers, c = [], 1
        for i in range(int(math.log2(size // 16))):
            w = (dim // 4, dim // 2, dim)[min(i, 2)]
            layers += [nn.Conv3d(c, w, 3, stride=2, padding=1), nn.GroupNorm(min(8, w), w), nn.SiLU()]
            c = w
        if c != dim:
            layers.append(nn.Conv3d(c, dim, 3, padding=1))
        self.voxel_embed = nn.Sequential(*layers)
        self.pos_embed = nn.Parameter(torch.randn(1, 4096, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads, dropout) for _ in range(depth))
        self.norm, self.output_proj = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, x, tokens, cond):
        x = self.voxel_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        for b in self.blocks:
            x = b(x, tokens, cond)
        x = self.output_proj(self.norm(x)).transpose(1, 2).unflatten(2, (16, 16, 16))
        return F.interpolate(x, size=(self.size,) * 3, mode="trilinear", align_corners=True)


class Lifter(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.depth_net = nn.Sequential(nn.Conv2d(FEATURES, 256, 3, padding=1), nn.GroupNorm(8, 256), nn.SiLU(),
                                       nn.Conv2d(256, 128, 3, padding=1), nn.GroupNorm(8, 128), nn.SiLU(), nn.Conv2d(128, size, 1))
        self.prior_modulation = nn.Sequential(nn.Conv2d(FEATURES, size, 1), nn.Sigmoid())

    def forward(self, f):
        w = self.depth_net(f).softmax(1) * self.prior_modulation(f)
        return w / (w.sum(1, keepdim=True) + 1e-8)


class Stage(nn.Module):
    def __init__(self, size, dim, depth, heads, dropout):
        super().__init__()
        self.size = size
        self.depth_lifter = nn.Module()
        self.depth_lifter.depth_networks = nn.ModuleDict({f"depth_{size}": Lifter(size)})
        self.depth_to_volume, self.vit_backbone = nn.Conv3d(FEATURES, 1, 1), Backbone(size, dim, depth, heads, dropout)

    def forward(self, x, f, cond):
        w = self.depth_lifter.depth_networks[f"depth_{self.size}"](f)  # B, D, h, w
        prior = F.conv2d(f, self.depth_to_volume.weight[..., 0]) * w + self.depth_to_volume.bias
        prior = F.interpolate(prior[:, None], size=(self.size,) * 3, mode="trilinear", align_corners=True)
        return self.vit_backbone(x + 0.1 * prior, f.flatten(2).transpose(1, 2), cond)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 64, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                     nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                     nn.Conv2d(128, FEATURES, 3, padding=1), nn.ReLU())
        self.time_mlp = nn.Sequential(nn.Linear(256, 512), nn.SiLU(), nn.Linear(512, CONDITION))
        self.to_cond = nn.Linear(FEATURES, CONDITION)

    def forward(self, xr, e):
        f = self.encoder(xr.flatten(0, 1)).unflatten(0, xr.shape[:2]).mean(1)
        return f, self.time_mlp(e) + self.to_cond(f.mean((2, 3)))


class Cascade(nn.Module):
    """Noisy volume [B, 1, S, S, S], radiographs [B, views, 1, R, R] and times [B] to the velocity."""

    def __init__(self, size=32, dim=64, depth=2, heads=4, dropout=0.1):
        super().__init__()
        self.time_embed = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256))
        self.xray_encoder, self.stages = Encoder(), nn.ModuleDict({"stage1": Stage(size, dim, depth, heads, dropout)})

    def forward(self, x, xr, t):
        f, cond = self.xray_encoder(xr, self.time_embed((t.to(x.dtype) / 1000)[:, None]))
        return self.stages["stage1"](x, f, cond)


def cosine(T=1000, s=0.008):
    x = torch.linspace(0, T, T + 1, dtype=torch.float64)
    ab = torch.cos((x / T + s) / (1 + s) * math.pi / 2) ** 2
    return torch.cumprod(1 - (1 - ab[1:] / ab[:-1]).clamp(1e-4, 0.9999), 0)


def losses(net, x0, xr, t, noise, ab):
    """The mean square of the velocity, and of the frontal projection beside each radiograph."""
    q = ab[t].to(x0.dtype).view(-1, 1, 1, 1, 1)
    xt, v = q.sqrt() * x0 + (1 - q).sqrt() * noise, q.sqrt() * noise - (1 - q).sqrt() * x0
    out = net(xt, xr, t).to(x0.dtype)
    p = (q.sqrt() * xt - (1 - q).sqrt() * out).clamp(-10, 10)[:, 0].sum(1)
    p = (p - p.min()) / (p.max() - p.min() + 1e-8)
    p = F.interpolate(p[:, None], size=xr.shape[-2:], mode="bilinear", align_corners=True)
    return F.mse_loss(out, v), ((p - xr[:, :, 0]) ** 2).mean()
