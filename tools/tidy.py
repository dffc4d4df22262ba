#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) over larmor/, app/ and workloads/, or over some of their sources, and lists what
it finds.

The commands are those of a build folder's compile_commands.json. Where that builds several sources at a time, all
are read in those units, which parses libtorch's headers a tenth as often; a single source is read by the command of
its unit. A finding in a header that many sources include is listed once.

What clang-tidy found in a unit is kept in the build folder (tidy_found/), under a hash of everything that it saw: the
unit with its headers, comments included, the rules, the program. A second run reads only what has changed, and one that
was broken off goes on where it was.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Where the sources are that the rules are for; what else a unit includes is somebody else's. Tests have not been gone
# through yet, those of the workloads neither.
FOLDERS = ("larmor", "app", "workloads")
TESTS = "tests"
FINDING = re.compile(r"^(?P<path>/[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<what>(?:warning|error): .*)$")
INCLUDED = re.compile(r'^#include "(?P<path>[^"]+\.cpp)"$', re.MULTILINE)
KEPT_SECONDS = 30 * 24 * 3600  # since it was last of use
LANDED, RECENT = "landed", 20  # --changed landed: see last_landed()
NO_ARGUMENT = ("-c", "-o")  # of the command: followed by a path that is not the caller's


def commands(build):
    """{source as it is compiled: [its sources, its flags]}: a unit has several sources, the others one."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"])
        words = shlex.split(entry["command"])[1:]
        flags = [word for i, word in enumerate(words)
                 if word not in NO_ARGUMENT and (i == 0 or words[i - 1] not in NO_ARGUMENT)]
        inside = [Path(path) for path in INCLUDED.findall(file.read_text())] if "Unity" in file.parts else [file]
        found[file] = (inside, flags)
    return found


def chosen(build, root, files):
    """[(file to read, flags)]. Of a header its source is read; without files all that lie in FOLDERS."""
    units = commands(build)
    if files is None:
        return [(unit, flags) for unit, (inside, flags) in units.items()
                if any(is_ours(source, root) for source in inside)]
    wanted = {(root / file).resolve().with_suffix(".cpp") for file in files if file.endswith((".h", ".cpp"))}
    known = {source.resolve(): (source, flags) for inside, flags in units.values() for source in inside}
    return [known[source] for source in sorted(wanted) if source in known]


def is_ours(path, root):
    try:
        folder, *below = path.resolve().relative_to(root).parts
    except ValueError:
        return False
    return folder in FOLDERS and TESTS not in below


def git(root, *arguments, check=True):
    done = subprocess.run(["git", *arguments], cwd=root, check=check, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def last_landed(root):
    """The commit after which changes are new: where this branch left origin/main; on main itself, where nothing is ahead
    of it, RECENT commits before. Of a shallow clone the oldest commit that is there; with one commit nothing is new."""
    head = git(root, "rev-parse", "HEAD")
    left = git(root, "merge-base", "origin/main", "HEAD", check=False)
    if left and left != head:
        return left[0]
    return git(root, "rev-list", "--first-parent", f"--max-count={RECENT + 1}", "HEAD")[-1]


def changed(root, reference):
    """Files that differ from where this branch left `reference`, or that git does not know yet."""
    [base] = [last_landed(root)] if reference == LANDED else git(root, "merge-base", reference, "HEAD")
    files = git(root, "diff", "--name-only", "--diff-filter=d", base)
    return files + git(root, "ls-files", "--others", "--exclude-standard")


def program_version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout


def key_of(seen, root, file, flags):
    """A hash of what decides what is found in a file; None where it cannot be preprocessed. `seen`: of the program."""
    # -C: comments hold names of arguments, and say where a finding is none.
    done = subprocess.run(["clang++", *flags, "-w", "-E", "-C", str(file)], cwd=root, capture_output=True)
    if done.returncode != 0:
        return None
    digest = hashlib.sha256((root / ".clang-tidy").read_bytes())
    digest.update(json.dumps([seen, flags]).encode())
    digest.update(done.stdout)
    return digest.hexdigest()


def read(program, seen, root, kept, file, flags):
    """As read_anew(), or what is kept of the same file in the folder `kept`."""
    key = key_of(seen, root, file, flags)
    place = kept / f"{key}.json"
    if key and place.exists():
        place.touch()
        return {tuple(where): below for where, below in json.loads(place.read_text())}, ""
    findings, trouble = read_anew(program, root, file, flags)
    if key and not trouble:
        half = place.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(list(findings.items())))
        half.replace(place)
    return findings, trouble


def read_anew(program, root, file, flags):
    """{(path, line, column, what): [lines below it]}, and why the file could not be read, or ""."""
    # -w: what a compiler warns of is the build's matter.
    done = subprocess.run([program, "--quiet", f"--config-file={root / '.clang-tidy'}", str(file), "--", *flags, "-w"],
                          cwd=root, capture_output=True, text=True)
    findings, below = {}, None
    for line in done.stdout.splitlines():
        match = FINDING.match(line)
        if match and Path(match["path"]).resolve().is_relative_to(root):
            path = Path(match["path"]).resolve().relative_to(root)
            below = findings.setdefault((str(path), int(match["line"]), int(match["column"]), match["what"]), [])
        elif match:
            below = None
        elif below is not None:
            below.append(line)
    trouble = ""
    if done.returncode != 0 and not findings:
        trouble = (done.stderr + done.stdout).strip() or f"{program} ended with {done.returncode}"
    return findings, trouble


def run(root, build, files, jobs, program="clang-tidy", out=sys.stdout, seconds=None):
    """Prints findings; the number of them and of files that could not be read. No file is begun after so many
    `seconds`; how many are left is told."""
    began = time.monotonic()
    work = chosen(build, root, files)
    all_findings, troubles = {}, []
    kept = build / "tidy_found"
    kept.mkdir(exist_ok=True)
    for file in kept.iterdir():
        if time.time() - file.stat().st_mtime > KEPT_SECONDS:
            file.unlink()
    seen = program_version(program)
    left = 0

    def read_in_time(one):
        if seconds is not None and time.monotonic() - began > seconds:
            return None
        return read(program, seen, root, kept, *one)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for (file, _), result in zip(work, pool.map(read_in_time, work)):
            if result is None:
                left += 1
                continue
            findings, trouble = result
            for place, below in findings.items():
                if is_ours(root / place[0], root):  # not before: what is kept of a unit outlives FOLDERS
                    all_findings.setdefault(place, below)
            if trouble:
                troubles.append((file, trouble))
    for (path, line, column, what), below in sorted(all_findings.items()):
        print(f"{path}:{line}:{column}: {what}", *below, sep="\n", file=out)
    for file, trouble in troubles:
        print(f"{file} could not be read:\n{trouble}", file=out)
    units = "1 file" if len(work) == 1 else f"{len(work)} files"
    print(f"{len(all_findings)} found by clang-tidy in {units} as they are compiled, {len(troubles)} unread, "
          f"{time.monotonic() - began:.0f} s" + (f"; {left} files were left: there was no time" if left else ""),
          file=out)
    return len(all_findings), len(troubles)


def test_changed(root, check):
    """What is new in a repository of main alone, in a shallow clone of it, and on a branch ahead of origin/main."""
    def commit(folder, name):
        (folder / name).write_text("int a;\n")
        git(folder, "add", name)
        git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", name)

    repository, clone, shallow = root / "repository", root / "clone", root / "shallow"
    git(root, "init", "--quiet", "--initial-branch=main", str(repository))
    for number in range(RECENT + 3):
        commit(repository, f"{number}.cpp")
    check("what is new on main", sorted(changed(repository, LANDED)), sorted(f"{i}.cpp" for i in range(3, RECENT + 3)))
    git(root, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    check("what is new of one commit", changed(shallow, LANDED), [])
    git(root, "clone", "--quiet", str(repository), str(clone))
    commit(clone, "ahead.cpp")
    check("what is new ahead of origin/main", changed(clone, LANDED), ["ahead.cpp"])


def self_test(program):
    """Two sources in a unit, of which one uses what it has moved, a header that both include, one that is broken."""
    if None in (shutil.which(program), shutil.which("clang++")):
        return print(f"self-test left out: there is no {program}, or no clang++") or 0
    faults = []

    def check(what, got, wanted):
        if got != wanted:
            faults.append(f"{what}: {got}, not {wanted}")

    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve()
        layer = root / "larmor"
        unit = root / "build" / "Unity" / "unity_0_cxx.cxx"
        for folder in (layer, unit.parent):
            folder.mkdir(parents=True)
        (root / ".clang-tidy").write_text("Checks: '-*,bugprone-use-after-move'\nHeaderFilterRegex: '/larmor/'\n")
        faulty = "#include <string>\n#include <utility>\ninline std::string NAME(std::string a) {\n" \
                 "  std::string b = std::move(a);\n  return a + b;\n}\n"
        (layer / "both.h").write_text("#pragma once\n" + faulty.replace("NAME", "in_header"))
        (layer / "faulty.cpp").write_text('#include "both.h"\n' + faulty.replace("NAME", "in_source"))
        (layer / "sound.cpp").write_text('#include "both.h"\nint sound() { return 1; }\n')
        (layer / "broken.cpp").write_text("int broken() { return nothing; }\n")
        unit.write_text(f'#include "{layer}/faulty.cpp"\n#include "{layer}/sound.cpp"\n')
        entries = [{"directory": str(root), "file": str(file),
                    "command": f"clang++ -std=c++20 -o {file.stem}.o -c {file}"}
                   for file in (unit, layer / "broken.cpp")]
        (root / "build" / "compile_commands.json").write_text(json.dumps(entries))
        calls = root / "calls"
        counting = root / "counting"
        counting.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo >> {calls}\nexec {program} "$@"\n')
        counting.chmod(0o755)
        for file, wanted in (("larmor/a.cpp", True), ("larmor/tests/a.cpp", False), ("elsewhere/a.cpp", False)):
            check(f"whether {file} is ours", is_ours(root / file, root), wanted)
        with open(os.devnull, "w") as nowhere:
            def found(files):
                return run(root, root / "build", files, jobs=2, program=str(counting), out=nowhere)

            def look(what, wanted_calls, wanted):
                calls.write_text("")
                check(what, found(None), wanted)
                check(f"calls for {what}", len(calls.read_text()), wanted_calls)
            look("the whole tree", 2, (3, 0))
            look("the whole tree again", 0, (3, 0))
            header = layer / "both.h"
            header.write_text(header.read_text().replace("return a + b;", "return a + b;  // NOLINT"))
            look("a comment in a header", 1, (2, 0))
            header.write_text(header.read_text().replace("  // NOLINT", ""))
            look("the comment taken out", 0, (3, 0))
            (root / ".clang-tidy").write_text((root / ".clang-tidy").read_text() + "# other rules\n")
            look("other rules", 2, (3, 0))
            check("one source", found(["larmor/faulty.cpp"]), (2, 0))
            check("a sound source with a faulty header", found(["larmor/sound.cpp"]), (1, 0))
            check("a header, which stands for its source", found(["larmor/faulty.h", "README.md"]), (2, 0))
            check("a source that is not compiled", found(["larmor/unknown.cpp"]), (0, 0))
            check("a source that does not compile", found(["larmor/broken.cpp"]), (1, 0))
            check("no time", run(root, root / "build", None, 1, str(counting), nowhere, seconds=-1), (0, 0))
        test_changed(root, check)
    print("\n".join(faults) or "self-test passed")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="sources or headers; without any all of them")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path, help="folder with compile_commands.json; ROOT/build/tidy by default")
    parser.add_argument("--changed", metavar="REF", help="files that this branch has changed since it left REF; `landed`: "
                        f"since origin/main, or in the last {RECENT} commits where nothing is ahead of it")
    parser.add_argument("--seconds", type=float, metavar="N", help="begin no file after so many")
    parser.add_argument("--most", type=int, metavar="N", help="with --changed: look at nothing where there are more")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test("clang-tidy")
    root = arguments.root.resolve()
    build = arguments.build or root / "build" / "tidy"
    files = arguments.files or None
    if arguments.changed:
        files = changed(root, arguments.changed)
        sources = chosen(build, root, files)
        if arguments.most is not None and len(sources) > arguments.most:
            print(f"{len(sources)} sources have changed since {arguments.changed}: script/tidy looks at all")
            return 0
    found, unread = run(root, build, files, arguments.jobs, seconds=arguments.seconds)
    return 1 if found or unread else 0


if __name__ == "__main__":
    sys.exit(main())
