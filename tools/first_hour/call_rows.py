"""The rows of the three calls, in the order of their worth."""

import os
import sys
from pathlib import Path

from run_call import Row

HERE = Path(__file__).resolve().parent
SECONDS = {1: 270, 2: 240, 3: 240}
# Other tests compute on the CPU wherever they run.
OPERATORS, REFERENCES = "Card.*", "*Golden.*"


class Kit:
    """Where things lie, and how they are called, on the machine with the card or in a rehearsal."""

    def __init__(self, out, rehearse):
        self.out, self.rehearse = out, rehearse
        self.python = os.environ.get("PYTHON", sys.executable)
        self.larmor = os.environ.get("LARMOR", "larmor").split()
        self.tests = Path(os.environ.get("TESTS", "tests"))
        self.runs = Path(os.environ.get("RUNS", "first-hour-runs"))
        self.on_card = {} if rehearse else {"LARMOR_TEST_DEVICE": "cuda", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        # A card that computes nothing takes any size in seconds.
        self.hollow = {"EMULATED_HOLLOW": "1"} if rehearse else {}

    def script(self, name, *words):
        return [self.python, "-B", HERE / f"{name}.py", *words]

    def tests_of(self, name, wanted):
        return [self.tests / name, "--gtest_brief=1", "--gtest_color=no", f"--gtest_filter={wanted}"]

    def sanitized(self, tool, wanted, seconds, beside=""):
        """Each tensor is an allocation of its own there, so that an access beyond one is seen."""
        test = self.tests_of("kernels_test", wanted)
        return Row(tool, test if self.rehearse else ["compute-sanitizer", "--tool", tool, "--error-exitcode", 9, *test],
                   "there is no error", seconds, 15, beside, {**self.on_card, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
                   [test[0]] if self.rehearse else ["compute-sanitizer", test[0]])

    def stages(self, what, seconds, beside):
        steps = ["--steps", 12, "--at-once", 2] if self.rehearse else ["--at-once", 8]
        return Row(f"stages-{what}", self.script("train_stages", what, *steps, "--folder", self.runs / "stages"),
                   f"9 of 9 tiny configs train ({what})", 600 if self.rehearse else seconds, 25, beside)

    def steps(self, name, *words, seconds=60, usual=18):
        """`bench step` of ours alone."""
        short = ["--blocks", 1, "--steps", 1, "--warmup", 1] if self.rehearse else []
        return Row("-".join([name, *[word.split("=")[-1] for word in words]]),
                   self.script("guide_steps", name, "--folder", self.runs, *short, *self.rehearsed(name), *words),
                   "it ends with 0", 120 if self.rehearse else seconds, usual,
                   environment={} if name == "vqa" else self.hollow)

    def beside_peer(self, name, order, seconds, profile=False):
        words = ["--order", order, "--folder", self.runs]
        words += ["--profile", self.out / f"{name}.json"] if profile else []
        words += ["--blocks", 1, "--steps", 1, "--warmup", 1] if self.rehearse else []
        return Row(f"{name}-beside-peer", self.script("beside_peer", name, *words, *self.rehearsed(name)),
                   "it ends with 0", 240 if self.rehearse else seconds, 35, environment=self.hollow)

    def rehearsed(self, name):
        """On a card that computes nothing, the counts that VQA's ranks exchange are rubbish: a small one that computes."""
        if not self.rehearse or name != "vqa":
            return []
        return ["data.image_size=64", "data.question_length=16", "model.convnext={size: custom, depths: [1, 1, 1], "
                "dims: [8, 12, 16], layer_scale: 0.1}", "model.bert.layers=1", "train.precision=fp32"]


def first(kit):
    operators, references = ("Philox*", "PatchDiscriminatorGolden.*") if kit.rehearse else (OPERATORS, REFERENCES)
    kernels = kit.tests / "kernels_test"
    return [
        Row("card", ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,temperature.gpu,power.draw",
                     "--format=csv,noheader"], "it ends with 0", 15, needs=["nvidia-smi"]),
        Row("doctor", [*kit.larmor, "doctor", "--no-color"], "1 GPU can be used", 30,
            says="1 GPU can be used", shows=r" *(?:GPU 0|ok    gpu:|FAIL).*"),
        Row("doctor-json", [*kit.larmor, "doctor", "--json"], "it ends with 0", 30),
        Row("ceilings", kit.script("ceilings"), "3.0 TB/s, 790 TFLOP/s or so", 45),
        Row("kernels", kit.tests_of("kernels_test", operators), "all tests pass", 75, 15, "a", kit.on_card, [kernels]),
        Row("golden", kit.tests_of("nn_test", references), "all tests pass", 75, 15, "a", kit.on_card, [kit.tests / "nn_test"]),
        kit.stages("exact", 75, "a"),
        # The machine's CPU may have units that ours lack: AMX.
        Row("cpu-kernels", kit.tests_of("kernels_test", "ColumnConv.*" if kit.rehearse else
                                        "UnwrittenMemory.*:ConvTrial.*:ColumnConv.*"), "all tests pass", 90, 20, "a",
            needs=[kernels]),
        kit.stages("bf16", 60, "b"),
        kit.stages("fp16", 60, "b"),
        kit.sanitized("memcheck", operators, 60, "b"),
        kit.stages("graphs", 60, "b"),
        Row("convolutions", kit.script("conv_table", "--seconds", 3 if kit.rehearse else 50), "transposed takes 0.45 of the pair",
            75, 30),
        kit.steps("autoencoder", seconds=60),
    ]


def second(kit):
    return [
        kit.beside_peer("autoencoder", "abba", 100, profile=True),
        kit.beside_peer("fast_ddpm", "abba", 100, profile=True),
        kit.beside_peer("resnet", "abb", 75, profile=True),
        kit.beside_peer("diffusion", "abb", 75),
        kit.steps("vqa"),
        kit.steps("cascade2"),
        kit.steps("cascade1"),
        kit.steps("autoencoder", "train.layout=contiguous"),
        kit.steps("fast_ddpm", "train.layout=contiguous"),
        kit.steps("vqa", "train.graphs=auto"),
        kit.steps("cascade1", "train.graphs=auto"),
        kit.beside_peer("autoencoder_alone", "ab", 60),
        Row("autoencoder-peer-compiled", kit.script("peer_step", "autoencoder", "--modes", "compile_bf16_channels_last_3d",
                                                    "--shows"), "it ends with 0", 120, 60),
    ]


def under_ncu(kit, layout):
    """The norms of a step of the autoencoder under the profiler; its counters may not be granted."""
    words = ["autoencoder_alone", "--blocks", 1, "--steps", 1, "--warmup", 1, f"train.layout={layout}"]
    return Row(f"ncu-{layout}", kit.script("guide_steps" if kit.rehearse else "norm_counters", *words),
               "the counters are granted", 75, 25, environment=kit.hollow, needs=[] if kit.rehearse else ["ncu"])


def third(kit):
    return [
        under_ncu(kit, "channels_last"),
        under_ncu(kit, "contiguous"),
        kit.stages("deterministic", 60, ""),
        kit.sanitized("racecheck", "Philox*" if kit.rehearse else "Card.Normalises*:Card.Draws*:Card.AddsBiases*", 120),
        Row("first-step", kit.script("first_step", "grow", "four", "two", "one"), "it ends with 0", 90, 40),
        kit.steps("autoencoder"),
        kit.steps("fast_ddpm"),
    ]


def rows_of(call, out, rehearse):
    return {1: first, 2: second, 3: third}[call](Kit(out, rehearse))
