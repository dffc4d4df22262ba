"""The network that answers questions about radiographs, behind its two backbones: regions of the feature map, the
encoder of scenes, their interaction with words, four heads and CheXpert's. Written here from the published description.
"""
import torch
from torch import nn
from torch.nn import functional as F

HEADS = dict(binary=(256, 2), category=(512, 14), region=(512, 26), severity=(128, 4))  # hidden width, classes
HEAD_WEIGHT = dict(binary=1.0, category=0.5, region=0.5, severity=0.3)


def masked_mean(x, ok):
    m = ok.to(x.dtype)[..., None]
    return (x * m).sum(1) / m.sum(1).clamp(min=1)


class Interaction(nn.Module):
    """Objects, words and the scene attend to each other; the sum of their means is the answer's vector."""

    def __init__(self, width, heads, ffn, layers):
        super().__init__()

        def attention():
            return nn.ModuleList(nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True) for _ in range(layers))

        def norms():
            return nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))

        self.visual_to_text, self.text_to_visual, self.scene_to_text = attention(), attention(), attention()
        self.visual_norms, self.text_norms, self.scene_norms = norms(), norms(), norms()
        self.ffn = nn.Sequential(nn.Linear(width, ffn), nn.GELU(), nn.Dropout(0.1), nn.Linear(ffn, width))
        self.ffn_norm = nn.LayerNorm(width)

    def forward(self, v, t, s, v_ok, t_ok):
        def attend(layer, q, k, ok):
            return layer(q, k, k, key_padding_mask=~ok, need_weights=False)[0]

        for i in range(len(self.visual_norms)):
            v = self.visual_norms[i](v + attend(self.visual_to_text[i], v, t, t_ok))
            t = self.text_norms[i](t + attend(self.text_to_visual[i], t, v, v_ok))
            s = self.scene_norms[i](s + attend(self.scene_to_text[i], s, t, t_ok))
        x = masked_mean(v, v_ok) + masked_mean(t, t_ok) + masked_mean(s, v_ok)
        return self.ffn_norm(x + self.ffn(x))


class SceneEncoder(nn.Module):
    def __init__(self, regions=311, entities=238, width=64):
        super().__init__()
        self.region_embedding, self.entity_embedding = nn.Embedding(regions, width), nn.Embedding(entities, width)
        self.region_proj = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())
        self.entity_proj = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())

    def forward(self, boxes, regions, entities, ok):
        w, h = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
        six = torch.cat([boxes, (w * h)[..., None], (w / (h + 1e-6))[..., None]], -1)
        x = torch.cat([six, self.region_proj(self.region_embedding(regions)), self.entity_proj(self.entity_embedding(entities))], -1)
        return x * ok.to(x.dtype)[..., None]


def head(width, hidden, classes):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, classes))


class VQA(nn.Module):
    """Everything behind the backbones: maps [B, C, H, W] and words [B, N, width] to the logits of each head."""

    def __init__(self, width, heads, map_channels, layers=2, projection=512, embedding=64):
        super().__init__()
        self.projection = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(map_channels, projection),
                                        nn.LayerNorm(projection), nn.GELU())
        self.scene_encoder = SceneEncoder(width=embedding)
        self.visual_proj, self.scene_proj = nn.Linear(projection, width), nn.Linear(6 + 2 * embedding, width)
        self.sim = Interaction(width, heads, 4 * width, layers)
        self.answers = nn.ModuleDict({k: head(width, hidden, n) for k, (hidden, n) in HEADS.items()})
        self.chexpert = head(width, 512, 14)

    def regions(self, maps, boxes, ok):
        height, width = maps.shape[2:]
        out = torch.zeros(*boxes.shape[:2], self.visual_proj.in_features, dtype=maps.dtype)
        for b in range(boxes.shape[0]):
            if not ok[b].any():  # no box: the whole map
                out[b, 0] = self.projection(maps[b:b + 1])[0]
            for i in range(boxes.shape[1]):
                if ok[b, i]:
                    x1, y1, x2, y2 = (float(q) for q in boxes[b, i])
                    x1, y1 = int(x1 * width), int(y1 * height)
                    x2, y2 = max(x1 + 1, int(x2 * width)), max(y1 + 1, int(y2 * height))
                    out[b, i] = self.projection(maps[b:b + 1, :, y1:y2, x1:x2])[0]
        return out

    def forward(self, maps, text, t_ok, boxes, region_ids, entity_ids, ok):
        scene = self.scene_encoder(boxes, region_ids, entity_ids, ok)
        v_ok = ok.clone()
        v_ok[~ok.any(1), 0] = True
        v, s = self.visual_proj(self.regions(maps, boxes, ok)), self.scene_proj(scene)
        fused = self.sim(v, text, s, v_ok, t_ok)
        return {**{k: answer(fused) for k, answer in self.answers.items()}, "chexpert": self.chexpert(masked_mean(v, v_ok))}


def multi_task_loss(o, targets, route, labels, mask, chexpert_weight=0.3):
    """route: head -> rows of the batch. Targets below 0 do not count; a head without a row adds nothing."""
    vqa = 0.0
    for k, w in HEAD_WEIGHT.items():
        rows = [i for i in route.get(k, []) if targets[k][i] >= 0]
        if rows:
            vqa = vqa + w * F.cross_entropy(o[k][rows], targets[k][rows])
    m = mask.to(o["chexpert"].dtype)
    bce = (F.binary_cross_entropy_with_logits(o["chexpert"], labels.to(m.dtype), reduction="none") * m).sum() / m.sum().clamp(min=1)
    return vqa + chexpert_weight * bce
