"""Training steps of whole networks, the memory that they take, and sampling: ours, and the peer's script with the same
network."""
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

from pairs import PEERS, compare, last_json, report


def lengths(run):
    return ["--blocks", run.blocks, "--steps", run.steps, "--warmup", 2]


@dataclasses.dataclass
class Network:
    """A network that both sides hold, with equal arithmetic in a step."""
    name: str
    words: list           # of `larmor bench step`
    script: str           # of the peer
    layouts: list         # what the peer's two modes in fp32 are called
    script_words: list = dataclasses.field(default_factory=list)
    bf16: bool = True     # the peer's script knows autocast
    spare: int = 0        # weights of ours that take no part in a step, and that the peer does not have


# The network, crop and optimizer of `brain` on invented heads: the same arithmetic, no files needed.
SMALL_AUTOENCODER = ["latent_diffusion", "-c", "brain", "data.kind=phantom", "data.phantom_cases=8",
                     "data.phantom_size=[64, 64, 64]", "data.split.val=0.2"]
VOLUME_MODES = ["eager", "channels_last_3d"]
AUTOENCODER = Network("small autoencoder", SMALL_AUTOENCODER, "autoencoder_step.py", VOLUME_MODES, ["--size", "small"])
RESNET = Network("resnet18 with Cox's loss, four images of 64 x 64 x 32",
                 ["survival", "data.kind=cohort", "data.cohort_cases=24", "data.cohort_size=[64, 64, 32]",
                  "data.split.val=0.2", "data.split.test=0",
                  "data.transforms=[{ScaleIntensityRange: {a_min: -1000, a_max: 1000, b_min: 0, b_max: 1}}]",
                  "train.global_batch=4", "optim.name=adam", "optim.weight_decay=0", "optim.clip_norm=0"],
                 "resnet_step.py", VOLUME_MODES, bf16=False)
FAST_DDPM = Network("Fast-DDPM, two volumes of 32 cubed",
                    ["fast_ddpm", "-c", "tiny", "model.ch=32", "data.phantom_cases=8", "data.phantom_size=[32, 32, 32]",
                     "data.transforms=[{ScaleIntensityRange: {a_min: 0, a_max: 1, b_min: -1, b_max: 1}}]",
                     "optim.ema_decay=0", "train.global_batch=2", "train.micro_batch=2"],
                    "fast_ddpm_step.py", VOLUME_MODES)


def cascade(size, voxel_dim, heads):
    """The published network of X-ray to CT: the peer holds that one."""
    return Network(f"X-ray to CT at {size} cubed, the published network",
                   ["xray_to_ct", "--stage", "stage1", "-c", "reference", "data.kind=phantom", "data.phantom_cases=8",
                    "data.split={train: 0.75, val: 0.25, test: 0}", f"model.volume_size={size}",
                    f"model.voxel_dim={voxel_dim}", "model.vit_depth=2", f"model.num_heads={heads}", "model.dropout=0.1",
                    "data.radiograph_size=128", "train.global_batch=1", "train.micro_batch=1", "optim.ema_decay=0",
                    "loss.physics_weight=0.3"],
                   "cascade_step.py", VOLUME_MODES, ["--size", size, "--dim", voxel_dim, "--heads", heads])


def unet(run, folder):
    """MONAI's diffusion U-Net on four latents of 16 cubed. Ours trains on latents that were encoded beforehand, since
    the peer's step has no autoencoder; a small one that is trained for a step makes them."""
    volumes = ["data.phantom_size=[64, 64, 64]", "data.phantom_cases=8",
               "data.transforms=[{CenterSpatialCrop: {roi_size: [64, 64, 64]}}]"]
    if not (folder / "autoencoder").exists():
        subprocess.run([run.program, "train", "latent_diffusion", "-c", "tiny", *volumes, "model.channels=[8, 8, 8]",
                        "model.num_res_blocks=[1, 1, 1]", "model.latent_channels=4",
                        "model.attention_levels=[false, false, false]", "model.norm_num_groups=8", "train.length=1st",
                        "train.validate_every=1st", "optim.schedule={name: constant}", f"run.folder={folder}",
                        "run.name=autoencoder"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Network("diffusion U-Net, four latents of 16 cubed",
                   ["latent_diffusion", "--stage", "diffusion", "-c", "tiny", *volumes,
                    f"from.autoencoder={folder / 'autoencoder'}", "model.latents=kept", "model.in_channels=4",
                    "model.out_channels=4", "model.channels=[32, 64, 64]", "model.num_res_blocks=[1, 1, 1]",
                    "model.attention_levels=[false, false, true]", "model.num_head_channels=[0, 0, 32]",
                    "model.norm_num_groups=32", "optim.ema_decay=0", "train.global_batch=4", "train.micro_batch=4"],
                   "unet_step.py", VOLUME_MODES)


VQA_WORDS = 8000
POOLER = 256 * 256 + 256  # of our BERT; it takes no part and does not learn, and the peer's has none


def questions(folder):
    """The network of vqa_step.py: timm's convnext_atto, a BERT of four layers, and what lies behind them, all dropout
    as there; batch 4 of 224 x 224, 64 tokens, six boxes."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"word{i}" for i in range(VQA_WORDS - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return Network("questions about radiographs",
                   ["xray_vqa", "data.kind=phantom", "data.phantom_cases=24", "data.phantom_questions=4",
                    "data.image_size=224", "data.question_length=64", "data.most_objects=6", "data.split.val=0.2",
                    "data.split.test=0", "model.convnext.size=atto",
                    "model.bert={layers: 4, heads: 4, intermediate: 1024, positions: 512, dropout: 0.1, attention_dropout: 0.1}",
                    "model.width=256",
                    "model.interaction={layers: 2, heads: 4, intermediate: 1024, dropout: 0.1, attention_dropout: 0.1}",
                    "train.global_batch=4", "optim.learning_rate=5e-5", f"data.vocabulary={folder / 'vocab.txt'}"],
                   "vqa_step.py", ["eager", "channels_last"], spare=POOLER)


def our_step(run, network):
    return [run.program, "bench", "step", *network.words, f"train.precision={run.precision}", "--threads", run.threads,
            *lengths(run)]


def their_step(run, network, modes):
    return [run.python, PEERS / network.script, *network.script_words, "--threads", run.threads,
            "--modes", ",".join(modes), *lengths(run)]


def modes_of(run, network):
    """In bf16 the peer's modes of both types take part, where its script has them."""
    if run.peer_modes:
        return run.peer_modes.split(",")
    in_bf16 = [mode.replace("eager", "bf16").replace("channels", "bf16_channels") for mode in network.layouts]
    return network.layouts + (in_bf16 if run.precision == "bf16" and network.bf16 else [])


def time_step(run, network):
    modes = modes_of(run, network)
    parameters = {}

    def ours():
        line = last_json(our_step(run, network))
        parameters["ours"] = line["parameters"] - network.spare
        return line["result"]["larmor"]["min_ms"]

    def theirs():
        line = last_json(their_step(run, network, modes))
        parameters["theirs"] = line["parameters"]
        return {mode: line["result"][mode]["min_ms"] for mode in modes}

    compare(f"training step, {network.name}, {run.precision}, {run.threads} threads", ours, theirs, run.pairs)
    assert parameters["ours"] == parameters["theirs"], parameters


def loaded_mib(program):
    """The peak of a process that does nothing but load its libraries. Nothing is freed before it ends."""
    process = subprocess.Popen([str(program), "--version"], stdout=subprocess.DEVNULL)
    status, usage = os.wait4(process.pid, 0)[1:]
    assert status == 0
    return usage.ru_maxrss / 1024


# As the peers' scripts ask for their own peak: before the interpreter ends, which takes a hundred MiB more.
IMPORTS = "import resource, torch, monai.networks.nets; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"


def memory_of(run, network):
    """Peaks of resident memory above those of processes that have only loaded their libraries, and as they are; the
    thriftier mode of the peer."""
    above, whole = [], []
    for _ in range(run.pairs):
        ours = last_json(our_step(run, network))["peak_rss_mib"]
        theirs = {mode: last_json(their_step(run, network, [mode]))["peak_rss_mib"] for mode in modes_of(run, network)}
        least = min(theirs.values())
        loaded = loaded_mib(run.program)
        imported = last_json([run.python, "-c", IMPORTS])
        above.append((ours - loaded) / (least - imported))
        whole.append(ours / least)
        print(json.dumps({"figure": "memory", "network": network.name, "larmor_mib": round(ours), "loaded_mib": round(loaded),
                          "peer_mib": theirs, "imported_mib": round(imported)}), flush=True)
    what = f"peak memory of a step, {network.name}, {run.precision}, larmor / best mode of the peer"
    report(what + ", above loaded libraries", above)
    report(what + ", whole processes", whole)


def in_scratch(figure):
    def with_folder(run):
        with tempfile.TemporaryDirectory() as folder:
            figure(run, pathlib.Path(folder))
    return with_folder


def cascades(run):
    """The sizes of the first stage and of the second."""
    time_step(run, cascade(32, 64, 4))
    time_step(run, cascade(64, 96, 6))


def memory(run, folder):
    memory_of(run, AUTOENCODER)
    memory_of(run, unet(run, folder))


def sampling(run):
    """Ten steps of Fast-DDPM's generalized sampler over one volume of 64 cubed, by `predict` of the workload."""
    program = run.program.with_name("sampling")
    if not program.exists():
        print("sampling: build preset bench, which makes sampling", flush=True)
        return
    parameters = {}

    def ours():
        line = last_json([program, run.threads, 64, run.blocks])
        parameters["ours"] = line["parameters"]
        return line["min_ms"]

    def theirs():
        line = last_json([run.python, PEERS / "fast_ddpm_sampling.py", "--threads", run.threads, "--side", 64,
                          "--blocks", run.blocks, "--modes", ",".join(VOLUME_MODES)])
        parameters["theirs"] = line["parameters"]
        return {mode: line["result"][mode]["min_ms"] for mode in VOLUME_MODES}

    compare(f"ten-step sampling of one volume of 64 cubed, 32 channels, fp32, {run.threads} threads", ours, theirs, run.pairs)
    assert parameters["ours"] == parameters["theirs"], parameters


FIGURES = {"step": lambda run: time_step(run, AUTOENCODER), "resnet": lambda run: time_step(run, RESNET),
           "unet": in_scratch(lambda run, folder: time_step(run, unet(run, folder))),
           "fast_ddpm": lambda run: time_step(run, FAST_DDPM), "cascade": cascades, "sampling": sampling,
           "vqa": in_scratch(lambda run, folder: time_step(run, questions(folder))), "memory": in_scratch(memory)}
