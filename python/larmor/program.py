"""The native program of this package, and the entry `larmor`, which becomes that program.

Imports nothing of torch: the program finds libtorch by itself where torch lies beside this package.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from typing import NoReturn

TORCH = "2.11"  # whose libtorch the program was built with; pyproject.toml asks pip for the same
PACKAGE = os.path.dirname(os.path.realpath(__file__))
ENVIRONMENT = 4  # the exit status for what the machine lacks


class Unfit(Exception):
    """What keeps the program from being started: what, where, and a hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def torch_folder() -> str:
    """The folder of the torch that the program takes its libtorch from, by its version. Throws Unfit."""
    install = f"`{sys.executable} -m pip install 'torch=={TORCH}.*'`"
    folder = os.path.join(os.path.dirname(PACKAGE), "torch")
    if not os.path.isdir(folder):
        spec = find_spec("torch")  # looks for it, and imports nothing
        if spec is None or spec.origin is None:
            raise Unfit(f"there is no torch beside {PACKAGE} or elsewhere in this Python, and larmor computes with its libtorch",
                        f"{install} brings it")
        folder = os.path.dirname(spec.origin)
    version = version_of(folder)
    if not version.startswith(TORCH + "."):
        raise Unfit(f"the torch in {folder} is {version}, and larmor was built with the libtorch of {TORCH}",
                    f"{install} replaces it; where it has to stay, install larmor in an environment of its own")
    return folder


def version_of(torch: str) -> str:
    try:
        with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
            for line in file:
                if line.startswith("__version__"):
                    return line.partition("=")[2].strip().strip("'\"")
    except OSError:
        pass
    return "of an unknown version"


def start_of_program() -> tuple[str, dict[str, str]]:
    """The program, and the environment to start it with. LARMOR_PROGRAM names another one, as of a build folder, which
    knows its own libtorch. Throws Unfit."""
    environment = dict(os.environ)
    named = environment.get("LARMOR_PROGRAM")
    if named:
        return named, environment
    folder = torch_folder()
    if os.path.dirname(folder) != os.path.dirname(PACKAGE):  # the program looks beside the package
        folders = [os.path.join(folder, "lib"), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    return os.path.join(PACKAGE, "bin", "larmor"), environment


def main() -> NoReturn:
    """Becomes the program: signals, exit status and output are its own."""
    try:
        program, environment = start_of_program()
        for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and what is ignored stays so
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        try:
            os.execve(program, ["larmor", *sys.argv[1:]], environment)
        except OSError as error:
            raise Unfit(f"{program} cannot be started: {error.strerror}",
                        f"`{sys.executable} -m pip install --force-reinstall --no-deps` of the wheel puts it back; its folder "
                        "must not lie on a file system that is mounted noexec") from None
    except Unfit as unfit:
        sys.stderr.write(f"larmor: {unfit.message}\n  hint: {unfit.hint}\n")
        sys.exit(ENVIRONMENT)
