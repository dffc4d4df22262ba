#!/usr/bin/env python3
"""Lines of code of larmor, app and workloads, without tests, blank lines and comments: the size of the house.

  tools/count_code.py                  of this tree, by layer
  tools/count_code.py --commit main~5  of a commit
  tools/count_code.py --stages         and of each stage of a workload (sources and header), with its overrides
"""

import argparse
import collections
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import source_tree

FOLDERS = ("larmor", "app", "workloads")


def without_comments(text):
    """The text with its comments removed; literals stay."""
    return source_tree.LITERALS.sub(lambda match: "" if match.group().startswith(("//", "/*")) else match.group(), text)


def lines_of_code(text):
    return sum(1 for line in without_comments(text).splitlines() if line.strip())


def overrides_of(header):
    """Functions that the class of a stage overrides."""
    return len(re.findall(r"\boverride\b", without_comments(header)))


def count(root):
    """Lines by layer: "larmor/base", "app", "workloads/survival"."""
    layers = collections.Counter()
    for path in source_tree.sources(root, FOLDERS):
        if source_tree.is_test_of_workload(path):
            continue
        layers["/".join(path.parts[:2]) if path.parts[0] != "app" else "app"] += lines_of_code(
            source_tree.read(root, path))
    return layers


def stages(root):
    """(name, lines of code, lines, overrides) of each header *_stage.h of a workload with its source."""
    for header in source_tree.sources(root, ("workloads",), (".h",)):
        source = header.with_suffix(".cpp")
        if not header.name.endswith("_stage.h") or not (root / source).is_file():
            continue
        texts = [source_tree.read(root, path) for path in (header, source)]
        yield (str(header.with_suffix("")), sum(map(lines_of_code, texts)),
               sum(text.count("\n") for text in texts), overrides_of(texts[0]))


def checkout(root, commit, folder):
    archive = folder / "tree.tar"
    with archive.open("wb") as out:
        subprocess.run(["git", "-C", str(root), "archive", commit, *FOLDERS], stdout=out, check=True)
    with tarfile.open(archive) as tree:
        tree.extractall(folder / "tree")
    return folder / "tree"


def show(root, with_stages):
    layers = count(root)
    for layer, lines in sorted(layers.items()):
        print(f"{lines:7d} {layer}")
    print(f"{sum(layers.values()):7d} in all")
    for name, code, lines, overrides in stages(root) if with_stages else ():
        print(f"{name}: {code} lines of code ({lines} with blank lines and comments), {overrides} overrides")


def self_test(folder):
    source_tree.write_tree(folder, {
        "larmor/base/a.cpp": '// A comment.\n#include "a.h"\n\nint a() {\n  /* two\n     lines */\n  return 1;  // one\n}\n',
        "larmor/base/a.h": '#pragma once\nconst char* url = "http://a";  // no comment begins in it\n',
        "app/main.cpp": "int main() {}\n",
        "workloads/toy/tests/a_test.cpp": "int counted_nowhere;\n",
        "workloads/toy/a_stage.h": "// Overrides: override.\nclass A : B {\n  int a() override;\n  int b() override;\n};\n",
        "workloads/toy/a_stage.cpp": "int A::a() { return 1; }\n",
    })
    found = count(folder)
    assert found == {"larmor/base": 6, "app": 1, "workloads/toy": 5}, found
    assert list(stages(folder)) == [("workloads/toy/a_stage", 5, 6, 2)], list(stages(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--commit", help="of the repository at --root, in place of its files")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.self_test:
            self_test(Path(folder))
            print("self-test passed")
            return 0
        root = checkout(arguments.root, arguments.commit, Path(folder)) if arguments.commit else arguments.root
        show(root, arguments.stages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
