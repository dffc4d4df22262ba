#!/usr/bin/env python3
"""Calls that are made in few places, because what they do has one owner: closing descriptors, changing the
environment, sending signals, masking them, removing folders with all that is in them."""

import re
from dataclasses import dataclass

import source_tree
from source_tree import Problem, blanked, read

FOLDERS = ("larmor", "workloads", "app", "examples")


@dataclass(frozen=True, eq=False)
class Rule:
    calls: re.Pattern
    instead: str
    places: dict  # {file: why it may}


def free(*names):
    """Calls of functions of these names, which are no members and of no namespace but the outermost."""
    return re.compile(r"(?<![\w.>:])(?:::)?(?P<name>" + "|".join(names) + r")\(")


RULES = (
    Rule(re.compile(r"(?<![\w.>:])::(?P<name>close)\("), "give the descriptor to a Descriptor (larmor/base/process/descriptor.h)",
         {"larmor/base/process/descriptor.h": "the one owner"}),
    Rule(free("setenv", "putenv", "unsetenv", "clearenv", "setlocale", "umask", "chdir", "fchdir"),
         "threads may be reading what this changes: hand it on as an argument, or set it for a process that is started",
         {"larmor/device/device.cpp": "set_up_environment(), before there are threads",
          "larmor/comm/connect.cpp": "before main()",
          "app/bench/bench_step.cpp": "of a verb that has no threads yet"}),
    Rule(free("kill", "killpg", "pidfd_send_signal"), "send signals by Process (larmor/base/process/process.h), which knows that the number is "
         "still the child's",
         {"larmor/base/process/process.cpp": "children that are not reaped",
          "larmor/codec/decoder_process.cpp": "a child that is not reaped"}),
    Rule(free("sigprocmask", "pthread_sigmask"), "block signals by SignalsBlocked (larmor/base/process/signal_mask.h), which ends with its scope",
         {"larmor/base/process/signal_mask.h": "the scope", "larmor/base/process/process.cpp": "the child's",
          "larmor/watch/stack_dump.cpp": "for good, before there are threads"}),
    Rule(re.compile(r"\b(?P<name>remove_all)\("), "take away what is ours, by name: remove_file() or remove_own() "
         "(larmor/base/files/removal.h)",
         {"larmor/base/files/storage.h": "the interface", "larmor/base/files/storage.cpp": "the interface",
          "larmor/base/files/faulty_storage.cpp": "the interface", "larmor/base/files/hooked_storage.h": "the interface",
          "larmor/base/files/hooked_storage.cpp": "the interface",
          "larmor/base/files/removal.cpp": "what was looked at", "larmor/base/files/file.cpp": "ScratchFolder, whose name was drawn by chance",
          "app/doctor.cpp": "a file whose name was drawn by chance",
          "workloads/xray_to_ct/data/prepare_pairs.cpp": "a folder that it has just made"}),
)


def check(root, _arguments=None):
    used = set()
    for path in source_tree.sources(root, FOLDERS):
        if source_tree.is_test_of_workload(path):
            continue
        text = blanked(read(root, path))
        for rule in RULES:
            for found in rule.calls.finditer(text):
                used.add((rule, str(path)))
                if str(path) not in rule.places:
                    line = text.count("\n", 0, found.start()) + 1
                    yield Problem(str(path), line, f"{found.group('name')}() is called here: {rule.instead}")
    for rule in RULES:
        for path in rule.places:
            if (rule, path) not in used and (root / path).is_file():
                yield Problem(path, 1, f"calls none of what tools/check_calls.py lets it call ({rule.instead}): "
                              "take it off the list")


GOOD_TREE = {
    "larmor/base/process/descriptor.h": "int close() { return ::close(number_); }\n",
    "larmor/base/process/signal_mask.h": "void f() { pthread_sigmask(SIG_BLOCK, &a, &b); }\n",
    "larmor/watch/fine.cpp": "// ::close(a), setenv(b)\nvoid f() { file.close(); a->kill(1); Door::close(2); }\n",
    "workloads/one/tests/a_test.cpp": "void f() { setenv(a, b, 1); ::close(3); }\n",
}

BAD_TREES = [
    ({"larmor/launch/a.cpp": "\nvoid f() { ::close(a); }\n"}, ["larmor/launch/a.cpp:2: close() is called here"]),
    ({"workloads/one/a.cpp": "void f() { setenv(a, b, 1); }\n"}, ["workloads/one/a.cpp:1: setenv() is called here"]),
    ({"larmor/nn/a.h": "void f() { ::umask(0); }\n"}, ["larmor/nn/a.h:1: umask() is called here"]),
    ({"larmor/launch/a.cpp": "void f() { ::kill(a, 9); }\n"}, ["a.cpp:1: kill() is called here"]),
    ({"app/a.cpp": "void f() { killpg(a, 9); }\n"}, ["app/a.cpp:1: killpg() is called here"]),
    ({"app/a.cpp": "void f() { pthread_sigmask(a, b, c); }\n"}, ["app/a.cpp:1: pthread_sigmask() is called here"]),
    ({"larmor/data/a.cpp": "void f() { fs::remove_all(a); }\n"}, ["a.cpp:1: remove_all() is called here"]),
    ({"larmor/data/a.cpp": "void f() { storage_.remove_all(a); }\n"}, ["a.cpp:1: remove_all() is called here"]),
    ({"larmor/base/process/descriptor.h": "int a;\n"}, ["descriptor.h:1: calls none of what"]),
]


def self_test(folder):
    source_tree.write_tree(folder / "good", GOOD_TREE)
    source_tree.expect(check(folder / "good"), [])
    for number, (files, fragments) in enumerate(BAD_TREES):
        source_tree.write_tree(folder / str(number), GOOD_TREE | files)
        source_tree.expect(check(folder / str(number)), fragments)


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__)
