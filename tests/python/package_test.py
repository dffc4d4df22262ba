"""The Python package over its own program or the one that LARMOR_PROGRAM names, with a real run of a few steps."""

import contextlib
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import larmor

PROGRAM = larmor.program.start_of_program()[0]
HAS_TENSORS = all(importlib.util.find_spec(name) for name in ("torch", "safetensors"))
HAS_PANDAS = importlib.util.find_spec("pandas") is not None


def quietly(*words, **keys):
    """`larmor.run`, with what it shows on stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        result = larmor.run(*words, **keys)
    return result, shown.getvalue()


class InAFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)
        cls.folder = Path(scratch.name).resolve()


class ARun(InAFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.result, cls.shown = quietly("train", "survival", "-c", "tiny", "--steps", "4", "--no-check", run__name="first",
                                        checkpoint__every="2st", **{"train.validate_every": "2st"})
        cls.of_first = larmor.Run("first")

    def test_a_verb_gives_its_json_and_shows_what_it_says(self):
        self.assertEqual(self.result["steps"], 4)
        self.assertEqual(self.result["run"], str(self.folder / "runs" / "first"))
        self.assertIn("step 1/200", self.shown)

    def test_a_run_is_found_by_folder_and_by_name(self):
        self.assertEqual(self.of_first.folder, self.folder / "runs" / "first")
        self.assertEqual(larmor.Run(self.folder / "runs" / "first").folder, self.of_first.folder)
        with self.assertRaisesRegex(larmor.Error, "there is no run second") as raised:
            larmor.Run("second")
        self.assertEqual(raised.exception.status, 2)

    def test_the_config_holds_words_that_a_call_takes(self):
        config = self.of_first.config
        self.assertEqual((config["train.validate_every"], config["data.kind"]), ("2st", "cohort"))
        plan, _ = quietly("plan", "survival", **{**config, "run.name": "other", "train.length": "30st"})
        self.assertEqual(plan["data"]["steps"], 30)

    def test_documents_and_status_are_those_of_the_folder(self):
        self.assertEqual(self.of_first.environment["stage"], "risk")
        self.assertIn("cores", self.of_first.hardware)
        self.assertTrue(self.of_first.plan)
        self.assertEqual(self.of_first.status, {"state": "unfinished"})

    def test_events_are_rows_and_figures_have_one_a_step(self):
        self.assertEqual([event["kind"] for event in self.of_first.events][:2], ["start", "step"])
        figures = self.of_first.figures
        self.assertEqual([row["step"] for row in figures], [1, 2, 3, 4])
        self.assertTrue(all("train/loss" in row for row in figures))
        self.assertNotIn("val/c_index", figures[0])
        self.assertIn("val/c_index", figures[1])

    def test_pictures_and_checkpoints_are_those_of_the_folder(self):
        self.assertIn(self.of_first.folder / "curves.png", self.of_first.pictures)
        rows = self.of_first.checkpoints
        self.assertEqual([(row["step"], row["ok"]) for row in rows], [(4, True), (2, True)])

    @unittest.skipUnless(HAS_PANDAS, "this Python has no pandas")
    def test_rows_become_a_frame(self):
        frame = self.of_first.figures.frame()
        self.assertEqual(list(frame["step"]), [1, 2, 3, 4])
        self.assertEqual(frame["val/c_index"].isna().sum(), 2)

    @unittest.skipUnless(HAS_TENSORS, "this Python has no torch and safetensors")
    def test_weights_are_those_of_the_checkpoint_that_is_named(self):
        from safetensors.torch import load_file
        for name, step in (("last", 4), ("step-00000002", 2)):
            mine = larmor.load("first", name)
            theirs = load_file(self.of_first.folder / "checkpoints" / f"step-{step:08}" / "model.safetensors")
            self.assertEqual(mine.keys(), theirs.keys())
            self.assertTrue(all(bool((mine[key] == theirs[key]).all()) for key in mine))
        first, last = larmor.load("first", "step-00000002"), self.of_first.load("last")
        self.assertFalse(all(bool((first[key] == last[key]).all()) for key in last))

    @unittest.skipIf(importlib.util.find_spec("safetensors"), "this Python has safetensors")
    def test_what_loading_lacks_is_named(self):
        with self.assertRaisesRegex(larmor.Error, "lacks safetensors") as raised:
            larmor.load("first")
        self.assertEqual(raised.exception.hint, "pip install safetensors")


class FiguresOfALaterStart(InAFolder):
    def test_take_the_place_of_the_steps_that_it_did_again(self):
        folder = Path("again")
        folder.mkdir()
        (folder / "config.yaml").touch()
        rows = [("start", 0, 0, 0), ("step", 1, 0, 1.0), ("step", 2, 0, 2.0), ("step", 3, 0, 3.0),
                ("start", 1, 1, 0), ("step", 2, 1, 20.0)]
        lines = [f'{{"generation": {generation}, "step": {step}, "epoch": 0.5, "examples": 4, "kind": "{kind}", '
                 f'"values": {{"train/loss": {loss}}}}}\n' for kind, step, generation, loss in rows]
        (folder / "events.jsonl").write_text("".join(lines) + '{"generation": 1, "st')
        figures = larmor.Run(folder).figures
        self.assertEqual([(row["step"], row["train/loss"]) for row in figures], [(1, 1.0), (2, 20.0)])


class Errors(InAFolder):
    def error_of(self, *words, **keys):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(larmor.Error) as raised:
            larmor.run(*words, **keys)
        return raised.exception

    def test_have_message_hint_and_status(self):
        error = self.error_of("plan", "survivall")
        self.assertEqual(error.message, "there is no workload survivall")
        self.assertIn("did you mean survival?", error.hint)
        self.assertEqual(error.status, 2)

    def test_keep_every_line_of_a_message(self):
        error = self.error_of("plan", "survival", "xx.y=1", "zz.z=1")
        self.assertIn("xx.y is not a key", error.message)
        self.assertIn("zz.z is not a key", error.message)
        self.assertIn("larmor config explain survival", error.hint)

    def test_keep_what_the_verb_gave_all_the_same(self):
        error = self.error_of("inspect", "nothing.nii.gz")
        self.assertEqual(error.status, 3)
        self.assertEqual(error.result[0]["problems"], ["no such file"])

    def test_name_a_program_that_cannot_be_started(self):
        with mock.patch.dict(os.environ, LARMOR_PROGRAM="/nowhere/larmor"):
            self.assertIn("/nowhere/larmor", self.error_of("list").message)


class TheEntry(InAFolder):
    """What `larmor` on the command line becomes, by the package itself in a folder of ours."""

    def entry(self, *words, environment=None, torch=None):
        place = Path(tempfile.mkdtemp(dir=self.folder))
        (place / "larmor").mkdir()
        for file in Path(larmor.__file__).parent.glob("*.py"):
            (place / "larmor" / file.name).symlink_to(file)
        if torch is not None:
            (place / "torch" / "lib").mkdir(parents=True)
            (place / "torch" / "__init__.py").touch()
            (place / "torch" / "version.py").write_text(f"__all__ = ['__version__']\n__version__ = '{torch}'\n")
        code = (f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; sys.path.insert(0, {str(place)!r})\n"
                f"from larmor import program; program.PACKAGE = {str(place / 'larmor')!r}\nprogram.main()")
        variables = {**os.environ, "LARMOR_PROGRAM": PROGRAM, **(environment or {})}
        for name in [name for name, value in variables.items() if value is None] + ["PYTHONPATH"]:
            variables.pop(name, None)
        return subprocess.run([sys.executable, "-c", code, *words], env=variables, capture_output=True, text=True, check=False)

    def test_gives_output_and_status_of_the_program(self):
        end = self.entry("list", "--json")
        self.assertEqual((end.returncode, end.stderr), (0, ""))
        self.assertIn('"workload": "survival"', end.stdout)
        self.assertEqual(self.entry("nothing").returncode, 2)

    def test_leaves_signals_to_the_program(self):
        shell = f"{sys.executable} -c 'import sys; sys.argv[0] = \"larmor\"; from larmor.program import main; main()'"
        end = subprocess.run(["bash", "-c", f"set -o pipefail; {shell} | head -1"], capture_output=True, text=True, check=False,
                             env={**os.environ, "LARMOR_PROGRAM": "/usr/bin/yes",
                                  "PYTHONPATH": str(Path(larmor.__file__).parent.parent)})
        self.assertEqual((end.returncode, end.stdout, end.stderr), (141, "y\n", ""))

    def test_says_that_there_is_no_torch(self):
        end = self.entry("list", environment={"LARMOR_PROGRAM": None})
        self.assertEqual(end.returncode, 4)
        self.assertRegex(end.stderr, r"larmor: there is no torch beside .*\n  hint: `.*pip install 'torch==2.11.\*'`")

    def test_says_which_torch_is_the_wrong_one(self):
        end = self.entry("list", environment={"LARMOR_PROGRAM": None}, torch="2.12.0+cpu")
        self.assertEqual(end.returncode, 4)
        self.assertRegex(end.stderr, r"larmor: the torch in .*/torch is 2.12.0\+cpu, and larmor was built .* of 2.11\n  hint: ")

    def test_says_that_the_program_is_not_there(self):
        end = self.entry("list", environment={"LARMOR_PROGRAM": None}, torch="2.11.0+cu130")
        self.assertEqual(end.returncode, 4)
        self.assertRegex(end.stderr, r"larmor: .*/bin/larmor cannot be started: No such file or directory\n  hint: ")


class AStop(InAFolder):
    """Of a training that would take long, by a signal to that one process."""

    def stopped(self, code, name):
        words = f"'train', 'survival', '-c', 'tiny', '--no-check', 'train.length=1000000st', 'run.name={name}'"
        process = subprocess.Popen([sys.executable, "-c", code.replace("WORDS", words)], stderr=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "PYTHONPATH": str(Path(larmor.__file__).parent.parent)})
        self.addCleanup(process.kill)
        with process.stderr:
            self.assertTrue(any(line.startswith("step 1/") for line in process.stderr))
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        return process.wait(), said

    def test_of_python_is_one_of_the_verb_with_its_checkpoint(self):
        status, said = self.stopped("import larmor; larmor.run(WORDS)", "by_call")
        self.assertEqual(status, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", said)
        self.assertEqual(len(larmor.Run("by_call").checkpoints), 1)

    def test_of_the_entry_is_the_programs(self):
        entry = "import sys; sys.argv = ['larmor', WORDS]; from larmor.program import main; main()"
        status, said = self.stopped(entry, "by_entry")
        self.assertEqual(status, 75, said)
        self.assertEqual(len(larmor.Run("by_entry").checkpoints), 1)


class ThePage(InAFolder):
    def test_shows_what_can_be_done(self):
        page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertEqual(len(blocks), 4)
        if not HAS_TENSORS:
            del blocks[-1]
        shown = "\n".join(blocks)
        if not HAS_PANDAS:
            shown = re.sub(r"^.*\.frame\(\).*$", "", shown, flags=re.MULTILINE)
        with contextlib.redirect_stderr(io.StringIO()):
            exec(compile(shown, "docs/python.md", "exec"), {})


class LastError(unittest.TestCase):
    def test_is_the_last_block_of_stderr(self):
        said = ["larmor: first", "step 1", "larmor: second", "  more of it", "  hint: do this", "    and that"]
        self.assertEqual(larmor.verbs.last_error(said), ("second\n  more of it", "do this\n    and that"))

    def test_is_said_where_the_program_said_nothing(self):
        self.assertIn("without a word", larmor.verbs.last_error([])[0])


class Values(unittest.TestCase):
    def test_are_written_as_the_command_line_takes_them(self):
        values = ["10st", True, None, 1e-4, [96, 96], {"Flip": {}}, Path("a/b")]
        self.assertEqual([larmor.verbs.written(value) for value in values],
                         ["10st", "true", "null", "0.0001", "[96, 96]", '{"Flip": {}}', "a/b"])


if __name__ == "__main__":
    unittest.main()
