#!/usr/bin/env python3
"""Compiles each header alone: whoever includes one gets everything that it needs.

Takes the flags from the build's compile_commands.json, and remembers what compiled, so that only what has changed
is compiled again. The large headers of others, and those of ours, that many include anyway are parsed once for all.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import source_tree
from source_tree import Problem, blanked, read

OURS = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"((?:larmor|workloads|app)/[^"]+)"', re.MULTILINE)
# Headers of others that take long to parse, each after those that it includes.
LARGE = {
    "filesystem": (),
    "nlohmann/json.hpp": ("filesystem",),
    "ATen/core/Tensor.h": (),
    "torch/nn/module.h": ("ATen/core/Tensor.h",),
    "torch/nn/modules/container/modulelist.h": ("ATen/core/Tensor.h", "torch/nn/module.h"),
}
LARGE_INCLUDE = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*<({"|".join(map(re.escape, LARGE))})>', re.MULTILINE)
TORCH = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](torch|ATen|c10|caffe2)/", re.MULTILINE)
# Of each header of libtorch one compiler takes seconds and most of a gigabyte: never more than two at a time.
COMPILERS_OF_TORCH = 2
# Definitions for libraries that no header of ours includes: files that differ in no others are one.
OF_SOURCES = ("-DSIMDJSON_", "-DSPDLOG_", "-DFMT_", "-DUTF8PROC_")
UNITED = re.compile(r'^#include "(/[^"]+)"', re.MULTILINE)
WITH_VALUE = {"-o", "-MT", "-MF", "-MQ", "-include", "-x", "-Xclang"}
OF_GCC_ALONE = {"-fno-tree-dse", "-ftrivial-auto-var-init=zero", "-Wno-maybe-uninitialized"}
WITHOUT_VALUE = {"-c", "-MD", "-MMD", "-Winvalid-pch", "-fpch-preprocess"}


def flags_of(command, source):
    """The compiler and what matters for syntax: no launcher, no output, no precompiled header.

    clang++ takes half of GCC's time for a header, so it is asked where there is one."""
    words = shlex.split(command)
    start = next(i for i, word in enumerate(words) if re.search(r"(^|/)(c\+\+|g\+\+|clang\+\+)[-\d.]*$", word))
    quicker = shutil.which("clang++")
    kept, rest = [quicker or words[start]], iter(words[start + 1:])
    for word in rest:
        if quicker and word in OF_GCC_ALONE:
            continue
        if word in WITH_VALUE:
            next(rest)
        elif word not in WITHOUT_VALUE and Path(word).name != Path(source).name and not re.match(r"-[Og]\d?$", word):
            kept.append(word)
    return kept


def sources_of(file):
    """The file itself, or those that a unity build compiles in it."""
    if file.parent.name != "Unity" or not file.is_file():
        return [file]
    return [Path(name) for name in UNITED.findall(file.read_text(encoding="utf-8"))]


def flags_by_folder(build):
    """{folder: flags}: those of any source of the folder, since a folder is one target."""
    folders = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        command = entry.get("command") or shlex.join(entry["arguments"])
        for source in sources_of(Path(entry["directory"], entry["file"])):
            folders.setdefault(str(source.resolve().parent), (flags_of(command, entry["file"]), entry["directory"]))
    return folders


def closure(root, header, known):
    """The header and all of ours that it includes, directly or not."""
    if header not in known:
        known[header] = {header}
        if (root / header).is_file():
            for name in OURS.findall(blanked(read(root, header), keep_strings=True)):
                known[header] |= closure(root, name, known)
    return known[header]


def digest(root, headers, flags):
    content = hashlib.sha256("\n".join(flags).encode())
    for name in sorted(headers):
        content.update(name.encode() + b"\0")
        content.update((root / name).read_bytes() if (root / name).is_file() else b"absent")
    return content.hexdigest()


class Precompiled:
    """What many headers include anyway, parsed once: large headers of others, and ours.

    A header begins with the largest such file of which it includes all, directly or not: it sees nothing that it would
    not see otherwise, and what it forgot is still missing."""

    USERS = 4  # as many at least make a file worth its writing

    def __init__(self, folder, jobs):
        self.folder, groups = Path(folder), {}
        for job in jobs:
            groups.setdefault((self.key(job), job.large), []).append(job)
        groups = [group for group in groups.values() if group[0].large and len(group) >= self.USERS]
        groups.sort(key=lambda group: -self.cost(group[0].large))
        with ThreadPoolExecutor(COMPILERS_OF_TORCH) as pool:
            self.files = [file for file in pool.map(self.make, range(len(groups)), groups) if file]

    @staticmethod
    def cost(large):
        """A number that orders sets of large headers by how long they take to parse."""
        return sum(1 << list(LARGE).index(name) for name in large)

    @staticmethod
    def shared(group):
        """Those of our headers that each job of the group includes, but the header itself and what it includes."""
        within = {str(job.header): {str(job.header), *job.headers} for job in group}
        return sorted(name for name in set().union(*(job.headers for job in group))
                      if all(name in job.headers or str(job.header) in within.get(name, {name}) for job in group))

    @staticmethod
    def key(job):
        """What of the flags matters to a precompiled file: not where headers are."""
        return tuple(flag for flag in job.flags
                     if flag.startswith(("-D", "-f", "-W", "-std", "-m")) and not flag.startswith(OF_SOURCES))

    def make(self, number, group):
        job, ours, header = group[0], self.shared(group), self.folder / f"{number}.h"
        lines = [*(f"#include <{name}>\n" for name in job.large), *(f'#include "{name}"\n' for name in ours)]
        header.write_text("".join(lines))
        # Without the option clang++ instantiates the templates of the file again for each header that begins with it.
        once = ["-fpch-instantiate-templates"] if "clang" in Path(job.flags[0]).name else []
        flags = [flag for flag in job.flags if not flag.startswith(OF_SOURCES)]
        made = subprocess.run([*flags, *once, "-x", "c++-header", header, "-o", f"{header}.gch"], cwd=job.directory,
                              capture_output=True, check=False)
        return (self.key(job), job.large, ours, ["-include", str(header)]) if made.returncode == 0 else None

    def flags_for(self, job):
        brought = {*job.large, *(inner for name in job.large for inner in LARGE[name])}
        fitting = [(self.cost(large), flags) for key, large, ours, flags in self.files
                   if key == self.key(job) and brought.issuperset(large) and job.headers.issuperset(ours)]
        return max(fitting, default=(0, []))[1]


def compile_alone(header, flags, directory):
    """The first error, or None."""
    done = subprocess.run([*flags, "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{header}"\n', text=True,
                          cwd=directory, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    if done.returncode == 0:
        return None
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", done.stderr)
    errors = [line for line in plain.splitlines() if "error:" in line]
    return errors[0] if errors else plain.strip()[-300:] or f"the compiler ended with {done.returncode}"


class Memory:
    """What compiled before: digests, one a line, in the build folder."""

    def __init__(self, build):
        self.path = build / "headers_alone.txt"
        self.known = set(self.path.read_text().split()) if self.path.is_file() else set()
        self.used = set()

    def __contains__(self, key):
        if key in self.known:
            self.used.add(key)
        return key in self.known

    def add(self, key):
        self.used.add(key)

    def save(self):
        temporary = self.path.with_suffix(f".{os.getpid()}")
        temporary.write_text("\n".join(sorted(self.used)) + "\n")
        temporary.replace(self.path)


class Job:
    """A header, how its folder is compiled (flags are None where it is not), and what it includes of ours and others'."""

    def __init__(self, root, header, headers, flags, directory):
        texts = [read(root, name) for name in sorted(headers) if (root / name).is_file()]
        self.header, self.flags, self.directory = header, flags, directory
        self.headers = headers - {str(header)}  # of ours, that it includes
        self.uses_torch = any(TORCH.search(text) for text in texts)
        included = {name for text in texts for name in LARGE_INCLUDE.findall(text)}
        # Those that others of them include are left out: sets that come to the same are one.
        brought = {name for other in included for name in LARGE[other]}
        self.large = tuple(name for name in LARGE if name in included - brought)
        self.key = digest(root, headers, flags) if flags else None


def jobs_of(root, build):
    """One for every header."""
    folders, known = flags_by_folder(build), {}
    for header in source_tree.sources(root, suffixes=(".h",)):
        # A skeleton's headers compile where the skeleton is copied to: a test does so.
        if any(part.endswith("_shim") for part in header.parts) or header.parts[0] == "examples":
            continue
        # larmor.h offers all layers; the last of them has the flags for it.
        home = root / "larmor/train" if str(header) == "larmor/larmor.h" else (root / header).parent
        flags = folders.get(str(home.resolve()))
        yield Job(root, header, closure(root, str(header), known), *(flags or (None, None)))


def check(root, arguments):
    build = arguments.build or root / "build" / "dev"
    if not (build / "compile_commands.json").is_file():
        yield Problem(str(build), 1, "no compile_commands.json: configure first (cmake --preset dev)")
        return
    memory, todo = Memory(build), []
    for job in jobs_of(root, build):
        if job.flags is None:
            yield Problem(str(job.header), 1, "its folder has no source in compile_commands.json")
        elif job.key not in memory:
            todo.append(job)
    with tempfile.TemporaryDirectory() as folder:
        precompiled = Precompiled(folder, todo)
        for uses_torch in (False, True):
            jobs = [job for job in todo if job.uses_torch == uses_torch]
            with ThreadPoolExecutor(COMPILERS_OF_TORCH if uses_torch else os.cpu_count()) as pool:
                results = pool.map(lambda job: compile_alone(job.header, job.flags + precompiled.flags_for(job),
                                                             job.directory), jobs)
                for job, error in zip(jobs, results):
                    if error is None:
                        memory.add(job.key)
                        memory.save()  # now: whoever interrupts the first, long run loses nothing
                    else:
                        yield Problem(str(job.header), 1, f"does not compile alone: {error}")
    memory.save()


def self_test(folder):
    class Arguments:
        build = folder / "out"

    source_tree.write_tree(folder, {
        "larmor/base/good.h": '#pragma once\n#include <string>\n#include "larmor/base/deep.h"\nstd::string f(Deep);\n',
        "larmor/base/deep.h": "#pragma once\nstruct Deep {};\n",
        "larmor/base/bad.h": "#pragma once\nstd::string g();\n",
        "larmor/base/a.cpp": "",
        "larmor/lonely/b.h": "",
    })
    command = (f"/usr/bin/ccache /usr/bin/c++ -I{folder} -std=c++20 -O2 -Wall -Werror -include /gone/pch.h"
               " -Xclang -include-pch -Xclang /gone/pch.h.pch -MD -MT a.o -o a.o -c a.cpp")
    entry = {"directory": str(folder), "file": str(folder / "larmor/base/a.cpp"), "command": command}
    source_tree.write_tree(folder, {"out/compile_commands.json": json.dumps([entry])})
    bad, lonely = "bad.h:1: does not compile alone", "b.h:1: its folder has no source"
    source_tree.expect(check(folder, Arguments), [bad, lonely])
    remembered = (folder / "out/headers_alone.txt").read_text()
    assert len(remembered.split()) == 2, remembered

    global compile_alone
    original, compiled = compile_alone, []

    def counting(header, flags, directory):
        compiled.append(header.name)
        return original(header, flags, directory)

    compile_alone = counting
    source_tree.expect(check(folder, Arguments), [bad, lonely])
    assert compiled == ["bad.h"], compiled
    # A change of what a header includes makes it new; a mistake there is found through both.
    source_tree.write_tree(folder, {"larmor/base/deep.h": "#pragma once\nstruct Shallow {};\n"})
    compiled.clear()
    source_tree.expect(check(folder, Arguments), [bad, lonely, "good.h:1: does not compile alone"])
    assert sorted(compiled) == ["bad.h", "deep.h", "good.h"], compiled

    # What many headers include is parsed once for them; what one of them forgot is missing all the same.
    good = '#pragma once\n#include <filesystem>\n#include "larmor/base/shared.h"\n'
    source_tree.write_tree(folder, {
        "larmor/base/shared.h": "#pragma once\n#include <filesystem>\nstruct Shared {};\n",
        "larmor/base/other.h": good + "struct Other {};\n",
        "larmor/base/uses.h": good + '#include "larmor/base/other.h"\nShared shared(Other);\n',
        "larmor/base/forgets.h": good + "Shared shared(Other);\n",
        **{f"larmor/base/user{number}.h": good + f"Shared shared{number}();\n" for number in range(4)},
    })
    jobs = [job for job in jobs_of(folder, Arguments.build) if job.flags]
    with tempfile.TemporaryDirectory() as scratch:
        precompiled = Precompiled(scratch, jobs)
        assert [file[2] for file in precompiled.files] == [["larmor/base/shared.h"]], precompiled.files
        begins = {job.header.name: precompiled.flags_for(job) for job in jobs}
    assert begins["forgets.h"] and begins["user3.h"] and not begins["shared.h"] and not begins["good.h"], begins
    forgets = "forgets.h:1: does not compile alone"
    source_tree.expect(check(folder, Arguments), [bad, forgets, lonely, "good.h:1: does not compile alone"])
    compile_alone = original


def add_arguments(parser):
    parser.add_argument("--build", type=Path, help="the build folder (default: build/dev)")


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__, add_arguments)
