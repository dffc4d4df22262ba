"""Times one training step of a small network that answers questions about radiographs.

timm's ConvNeXt (convnext_atto, features only, random weights) at 224 x 224, a BertModel of transformers with four layers,
and vqa_network.VQA behind them. Step = forward, the loss of all tasks, backward, clip 1.0, fused AdamW.

  python bench/peers/vqa_step.py --threads 2
"""
import peerlib as P

MODES = ("eager", "channels_last", "bf16", "bf16_channels_last")


def make_step(torch, a, mode):
    import timm
    import vqa_network
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    fmt = P.memory_format(torch, mode)
    image = timm.create_model(a.image_model, features_only=True, pretrained=False)
    channels = image.feature_info.channels()[-1]
    text = BertModel(BertConfig(hidden_size=a.width, num_hidden_layers=a.text_layers, num_attention_heads=a.heads, vocab_size=a.vocab,
                                intermediate_size=4 * a.width), add_pooling_layer=False)
    rest = vqa_network.VQA(a.width, a.heads, channels)
    net = torch.nn.ModuleDict(dict(visual=image.to(memory_format=fmt), text=text, rest=rest)).train()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-5, weight_decay=0.01, fused=True)
    b, n, k = a.batch, a.tokens, a.objects
    lo = torch.rand(b, k, 2) * 0.6
    boxes = torch.cat([lo, lo + 0.1 + torch.rand(b, k, 2) * (0.9 - lo)], -1)
    ok = torch.arange(k)[None] < torch.randint(1, k + 1, (b, 1))
    mask = (torch.arange(n)[None] < torch.randint(n // 2, n + 1, (b, 1))).long()
    images = [torch.randn(b, 3, a.side, a.side).to(memory_format=fmt) for _ in range(4)]
    ids = torch.randint(5, a.vocab, (b, n))
    regions, entities = torch.randint(0, 311, (b, k)), torch.randint(0, 238, (b, k))
    targets = {h: torch.randint(0, c, (b,)) for h, (_, c) in vqa_network.HEADS.items()}
    route = {h: [i for i in range(b) if i % 4 == j] for j, h in enumerate(vqa_network.HEADS)}
    labels, labelled = torch.rand(b, 14) < 0.2, torch.rand(b, 14) < 0.6

    def loss(i):
        maps = net["visual"](images[i % len(images)])[-1]
        words = net["text"](input_ids=ids, attention_mask=mask).last_hidden_state
        out = net["rest"](maps.float(), words.float(), mask.bool(), boxes, regions, entities, ok)
        return vqa_network.multi_task_loss({q: v.float() for q, v in out.items()}, targets, route, labels, labelled)

    return P.training_step(torch, net, opt, loss, mode, clip=1.0)


def main():
    ap = P.arguments(__doc__, MODES)
    ap.add_argument("--image-model", default="convnext_atto")
    ap.add_argument("--text-layers", type=int, default=4)
    ap.add_argument("--width", type=int, default=256)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--vocab", type=int, default=8000)
    ap.add_argument("--tokens", type=int, default=64)
    ap.add_argument("--objects", type=int, default=6)
    ap.add_argument("--side", type=int, default=224)
    ap.add_argument("--batch", type=int, default=4)
    P.time_modes("vqa_step", ap.parse_args(), make_step)


if __name__ == "__main__":
    main()
