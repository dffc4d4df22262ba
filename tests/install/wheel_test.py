"""The wheel, built by script/wheel, as a user without root meets it: what it holds, where its programs look for
libraries, and how long it takes from `pip install` to the first step.

The tests have no network, so that torch is not fetched: the libraries of it that the program uses are linked from
script/setup's folder into the new environment, with a version and no requirements. All else is the installed wheel's.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
NOBODY = 65534
SECONDS_TO_THE_FIRST_STEP = 60
PYTHON = "/usr/bin/python3"  # one that every user of this machine can start
OF_TORCH = ("torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp.so.1",
            "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13")
# What each Linux of the wheel's tag has, or brings with its compiler's runtime.
OF_THE_MACHINE = re.compile(r"ld-linux-x86-64|linux-vdso|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s)\.so")


def libtorch_folder():
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("LARMOR_LIBTORCH") or cache / "larmor" / "libtorch-2.11.0")


def link_or_copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def give_torch(packages, version):
    """Puts torch where pip would, as far as larmor needs it."""
    for name in OF_TORCH:
        if (libtorch_folder() / name).exists() and not (packages / name).exists():
            link_or_copy(libtorch_folder() / name, packages / name)
    (packages / "torch" / "__init__.py").touch()
    (packages / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")
    record = packages / "torch-0.dist-info"
    record.mkdir(exist_ok=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        subprocess.run([SOURCE / "script" / "wheel", cls.scratch / "dist"], check=True, stdout=subprocess.DEVNULL)
        cls.wheel, = (cls.scratch / "dist").glob("*.whl")
        cls.user = cls.scratch / "user"
        cls.user.mkdir()
        cls.env = cls.user / "env"
        if os.getuid() == 0:
            os.chmod(cls.scratch, 0o755)
            os.chown(cls.user, NOBODY, NOBODY)
        cls.as_user([PYTHON, "-m", "venv", "--without-pip", cls.env]).check_returncode()
        cls.packages, = cls.env.glob("lib/python3*/site-packages")

    @classmethod
    def as_user(cls, command, environment=None):
        """A command as somebody without root, in an empty folder of their own, who has set nothing."""
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(cls.user), "OMP_WAIT_POLICY": "passive"} if environment is None else environment
        return subprocess.run([*nobody, *map(str, command)], cwd=cls.user, env=variables, capture_output=True, text=True, check=False)

    @classmethod
    def train(cls, name, environment=None):
        return cls.as_user([cls.env / "bin" / "larmor", "train", "survival", "-c", "tiny", "--steps", "1", "--no-check",
                            f"run.name={name}"], environment)

    def test_1_holds_program_libraries_configs_and_package_and_no_libtorch(self):
        self.assertRegex(self.wheel.name, r"^larmor-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as file:
            names = file.namelist()
            metadata, = [name for name in names if name.endswith(".dist-info/METADATA")]
            self.assertIn("Requires-Dist: torch==2.11.*", file.read(metadata).decode())
        for name in ("larmor/bin/larmor", "larmor/bin/larmor-decode", "larmor/py.typed",
                     "larmor/share/larmor/workloads/survival/risk/configs/tiny.yaml"):
            self.assertIn(name, names)
        self.assertEqual({name.split("/")[0] for name in names if ".dist-info/" not in name}, {"larmor"})
        self.assertFalse([name for name in names if re.search(r"libtorch|libc10|/include/|\.a$|\.cmake$", name)])
        libraries = [name for name in names if name.startswith("larmor/lib/")]
        self.assertTrue([name for name in libraries if name.startswith("larmor/lib/libdcmdata.so")])
        self.assertFalse([name for name in libraries if OF_THE_MACHINE.search(name)])
        for package in ("libspng0", "libjs-dygraphs", "fonts-dejavu-core"):  # beside the programs, and inside
            self.assertIn("larmor/share/larmor/licences/" + package, names)
        print(f"{self.wheel.name}: {self.wheel.stat().st_size / 2**20:.1f} MiB, {len(libraries)} libraries")

    def test_2_is_refused_by_pip_where_there_is_no_torch(self):
        end = self.as_user([PYTHON, "-m", "pip", "--python", self.env / "bin" / "python", "install", "--no-index", self.wheel])
        self.assertNotEqual(end.returncode, 0)
        self.assertIn("No matching distribution found for torch==2.11.*", end.stderr)

    def test_3_trains_its_first_step_within_the_minute(self):
        give_torch(self.packages, "2.11.0")
        started = time.monotonic()
        end = self.as_user([PYTHON, "-m", "pip", "--python", self.env / "bin" / "python", "install", "--no-index", self.wheel])
        self.assertEqual(end.returncode, 0, end.stderr)
        installed = time.monotonic()
        end = self.train("first")
        seconds = time.monotonic() - started
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("step 1/200", end.stderr)
        print(f"pip install: {installed - started:.1f} s; to the end of the first step: {seconds:.1f} s")
        self.assertLess(seconds, SECONDS_TO_THE_FIRST_STEP)

    def test_4_takes_libraries_of_its_own_and_of_torch(self):
        for program in ("larmor", "larmor-decode"):
            file = self.packages / "larmor" / "bin" / program
            dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            self.assertIn("rpath: [$ORIGIN/../../torch/lib:$ORIGIN/../lib]", dynamic)
            found = self.as_user(["ldd", file]).stdout
            self.assertNotIn("not found", found)
            elsewhere = [line.strip() for line in found.splitlines() if str(self.packages) not in line]
            self.assertEqual([line for line in elsewhere if not OF_THE_MACHINE.search(line)], [])

    def test_5_needs_none_of_this_machines_libraries_and_writes_nothing_where_it_is_installed(self):
        """In a user namespace whose own copies of those libraries are empty, over a read-only install."""
        if self.as_user(["unshare", "-rm", "true"]).returncode != 0:
            self.skipTest("this machine lets nobody make a user namespace")
        package = self.packages / "larmor"
        hidden = [Path(folder) / library.name for library in (package / "lib").iterdir()
                  for folder in ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu")]
        script = "".join(f"mount --bind /dev/null {file}; " for file in hidden if file.exists())
        script += (f"mount --bind {self.env} {self.env}; mount -o remount,bind,ro {self.env}; "
                   f"exec {package}/bin/larmor train survival -c tiny --steps 1 --no-check run.name=alone")
        end = self.as_user(["unshare", "-rm", "sh", "-ec", script])
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("step 1/200", end.stderr)

    def test_6_starts_without_a_home(self):
        end = self.train("homeless", {"PATH": "/usr/bin:/bin"})
        self.assertEqual(end.returncode, 0, end.stderr)

    def test_7_decodes_compressed_dicom_beside_the_program(self):
        end = self.as_user([self.env / "bin" / "larmor", "doctor"])
        self.assertIn(f"decoded by {self.packages}/larmor/bin/larmor-decode", end.stdout + end.stderr)

    def test_8_does_from_python_what_it_does_from_a_shell(self):
        code = ("import larmor; run = larmor.Run('first'); "
                "print(run.status['state'], [row['step'] for row in run.figures], larmor.run('list')[0]['workload'])")
        end = self.as_user([self.env / "bin" / "python", "-c", code])
        self.assertEqual((end.returncode, end.stdout), (0, "unfinished [1] fast_ddpm\n"), end.stderr)

    def test_8_takes_the_torch_that_python_finds_elsewhere(self):
        elsewhere = self.user / "elsewhere"
        elsewhere.mkdir()
        for name in ("torch", "nvidia"):
            (self.packages / name).rename(elsewhere / name)
            self.addCleanup((elsewhere / name).rename, self.packages / name)
        end = self.train("none")
        self.assertEqual((end.returncode, end.stdout), (4, ""))
        self.assertRegex(end.stderr, r"^larmor: there is no torch beside .*\n  hint: .*pip install 'torch==2\.11\.\*'")
        end = self.train("elsewhere", {"PATH": "/usr/bin:/bin", "HOME": str(self.user), "PYTHONPATH": str(elsewhere)})
        self.assertEqual(end.returncode, 0, end.stderr)

    def test_9_says_what_is_wrong_with_the_torch_beside_it(self):
        give_torch(self.packages, "2.12.0")
        end = self.train("wrong")
        self.assertEqual((end.returncode, end.stdout), (4, ""))
        self.assertRegex(end.stderr, r"^larmor: the torch in .* is 2\.12\.0, .*\n  hint: .*pip install 'torch==2\.11\.\*'")


if __name__ == "__main__":
    if not Path(PYTHON).exists():
        print(f"skipped: there is no {PYTHON}")
        sys.exit(77)
    unittest.main(verbosity=2)
