"""Times reading radiographs and tokenising questions: Pillow and torchvision's transforms, transformers' fast tokenizer of BERT.

Image: open, convert to RGB, Resize((224, 224)) bilinear, ToTensor, Normalize (ImageNet). Text: one call per question, or
one batched call, padded and cut to 128. Units of "ms": per pass over all images / all questions.

  python bench/peers/cxr_text_pipeline.py PICTURES --vocab vocab.txt --threads 1
"""
import gzip
import json
import os
import pathlib

import peerlib as P


def main():
    ap = P.arguments(__doc__, ("decode", "decode_resize_normalise", "tokenize_one_by_one", "tokenize_batch"))
    ap.add_argument("folder", type=pathlib.Path)
    ap.add_argument("--vocab", type=pathlib.Path, required=True)
    ap.add_argument("--lines", type=pathlib.Path, help="JSON lines with a text field (default: wordpiece_lines.jsonl.gz beside the vocabulary)")
    ap.add_argument("--questions", type=int, default=2000)
    ap.add_argument("--uncased", action="store_true")
    a = ap.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if a.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(a.threads)
    torch = P.setup(a.threads)
    import transformers
    from PIL import Image
    from torchvision import transforms as T

    files = sorted(p for p in a.folder.rglob("*") if p.suffix in (".png", ".jpg", ".jpeg"))
    vocab = {t: i for i, t in enumerate(a.vocab.read_text(encoding="utf-8").split("\n")[:-1])}
    tok = transformers.BertTokenizerFast(vocab=vocab, do_lower_case=a.uncased)
    lines = a.lines or a.vocab.parent / "wordpiece_lines.jsonl.gz"
    with (gzip.open if lines.suffix == ".gz" else open)(lines, "rt", encoding="utf-8") as f:
        texts = [json.loads(line)["text"] for _, line in zip(range(a.questions), f)]
    chain = T.Compose([T.Resize((224, 224)), T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    state = {}

    def decode():
        state["pixels"] = sum(Image.open(p).convert("RGB").size[0] for p in files)

    def images():
        state["image_sum"] = sum(float(chain(Image.open(p).convert("RGB")).sum()) for p in files)

    def one_by_one():
        state["tokens"] = sum(len(tok(t, truncation=True, max_length=128)["input_ids"]) for t in texts)

    def batch():
        r = tok(texts, truncation=True, max_length=128, padding="max_length", return_tensors="pt")
        state["tokens_batch"] = int(r["attention_mask"].sum())

    every = dict(decode=decode, decode_resize_normalise=images, tokenize_one_by_one=one_by_one, tokenize_batch=batch)
    out = P.interleave({m: every[m] for m in a.modes.split(",")}, a.blocks, a.steps, a.warmup)
    P.emit(script="cxr_text_pipeline", images=len(files), questions=len(texts), result=out, check={k: round(v, 3) for k, v in state.items()},
           peak_rss_mib=P.peak_rss_mib(), versions={**P.versions(), "transformers": transformers.__version__})


if __name__ == "__main__":
    main()
