"""What the checks of this folder share: finding sources, blanking comments, reporting places."""

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

CODE_FOLDERS = ("larmor", "workloads", "app", "examples")
CPP_SUFFIXES = (".h", ".cpp", ".cu", ".cuh")


@dataclass(frozen=True, order=True)
class Problem:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def is_test_of_workload(path):
    """workloads/<name>/tests/…: tests that lie with what they test."""
    return path.parts[0] == "workloads" and path.parts[2:3] == ("tests",)


def sources(root, folders=CODE_FOLDERS, suffixes=CPP_SUFFIXES):
    """The files below the folders, relative to root, in a fixed order. Among the code folders alone without tests."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file() and "build" not in path.relative_to(root).parts:
                relative = path.relative_to(root)
                if folders != CODE_FOLDERS or not is_test_of_workload(relative):
                    found.append(relative)
    return found


# Raw strings first: they may contain what looks like the others.
LITERALS = re.compile(
    r'R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"'
    r"|//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def blanked(text, keep_strings=False):
    """The text with comments and literals turned into spaces; lines stay where they are."""

    def blank(match):
        if keep_strings and not match.group().startswith(("//", "/*")):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return LITERALS.sub(blank, text)


def read(root, path):
    return (root / path).read_text(encoding="utf-8")


def write_tree(root, files):
    """For self-tests: {path: text} on disk."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def expect(found, fragments):
    """For self-tests: every problem expected, in any order, and none besides."""
    left = [str(problem) for problem in found]
    for fragment in fragments:
        hits = [line for line in left if fragment in line]
        if not hits:
            raise AssertionError(f"not found: {fragment}\namong: {left}")
        left.remove(hits[0])
    if left:
        raise AssertionError(f"found besides: {left}")


def run(check, self_test, description, add_arguments=lambda parser: None):
    """The command line of a check: --root, --self-test; exit status 1 when anything was found."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true", help="show the check trees that break its rules")
    add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.self_test:
        with tempfile.TemporaryDirectory() as folder:
            self_test(Path(folder))
        print("self-test passed")
        return 0
    found = sorted(set(check(arguments.root, arguments)))
    for problem in found:
        print(problem)
    print(f"{len(found)} found" if found else "nothing found")
    return 1 if found else 0


def main(*arguments, **named):
    sys.exit(run(*arguments, **named))
