"""The archives of script/tarball, as a user without root, network or Python meets them: unpacked, moved, trained with."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
NOBODY = 65534


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        subprocess.run([SOURCE / "script" / "tarball", cls.scratch / "dist"], check=True, stdout=subprocess.DEVNULL)
        cls.archive, = (cls.scratch / "dist").glob("larmor-*-linux-x86_64.tar.xz")
        cls.package, = (cls.scratch / "dist").glob("larmor_*_amd64.deb")
        cls.user = cls.scratch / "user"
        cls.user.mkdir()
        if os.getuid() == 0:
            os.chmod(cls.scratch, 0o755)
            os.chown(cls.user, NOBODY, NOBODY)

    @classmethod
    def as_user(cls, command, path="/nowhere"):
        """A command as somebody without root, who has no Python to find."""
        nobody = ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        return subprocess.run([*nobody, *map(str, command)], cwd=cls.user, env={"PATH": path, "HOME": str(cls.user)},
                              capture_output=True, text=True, check=False)

    def train(self, program, name):
        end = self.as_user([program, "train", "survival", "-c", "tiny", "--steps", "1", "--no-check", f"run.name={name}"])
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("step 1/200", end.stderr)

    def test_1_is_unpacked_moved_and_trains(self):
        self.as_user(["/usr/bin/tar", "-xf", self.archive], path="/usr/bin:/bin").check_returncode()
        tree, = self.user.glob("larmor-*")
        moved = tree.rename(self.user / "any where")
        print(f"{self.archive.name}: {self.archive.stat().st_size / 2**20:.0f} MiB")
        self.train(moved / "bin" / "larmor", "first")
        link = self.user / "larmor"
        link.symlink_to(moved / "bin" / "larmor")
        self.train(link, "by-link")
        found = self.as_user(["/usr/bin/ldd", moved / "larmor" / "bin" / "larmor"], path="/usr/bin:/bin").stdout
        self.assertNotIn("not found", found)
        elsewhere = [line for line in found.splitlines() if str(moved) not in line]
        own = re.compile(r"ld-linux-x86-64|linux-vdso|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s)\.so")
        self.assertEqual([line for line in elsewhere if not own.search(line)], [])
        for name in ("LICENSE", "README.md", "licences/torch", "licences/nvidia_cuda_runtime"):
            self.assertTrue((moved / name).stat().st_size, name)

    def test_2_is_the_same_as_a_package_of_debian(self):
        info = subprocess.run(["dpkg-deb", "--info", self.package], capture_output=True, text=True, check=True).stdout
        self.assertRegex(info, r"Depends: libc6 \(>= 2\.\d+\), libstdc\+\+6, libgcc-s1")
        root = self.user / "root"
        self.as_user(["/usr/bin/dpkg-deb", "-x", self.package, root], path="/usr/bin:/bin").check_returncode()
        self.assertEqual(os.readlink(root / "usr/bin/larmor"), "/opt/larmor/bin/larmor")
        self.train(root / "opt/larmor/bin/larmor", "packaged")


if __name__ == "__main__":
    unittest.main(verbosity=2)
