#!/usr/bin/env python3
"""Calls that are made in few places, because what they do has one owner: closing descriptors, changing the
environment, sending signals."""

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
    Rule(re.compile(r"(?<![\w.>:])::(?P<name>close)\("), "give the descriptor to a Descriptor (larmor/base/descriptor.h)",
         {"larmor/base/descriptor.h": "the one owner"}),
    Rule(free("setenv", "putenv", "unsetenv", "clearenv", "setlocale", "umask", "chdir", "fchdir"),
         "threads may be reading what this changes: hand it on as an argument, or set it for a process that is started",
         {"larmor/device/device.cpp": "set_up_environment(), before there are threads",
          "larmor/comm/connect.cpp": "before main()",
          "app/bench_step.cpp": "of a verb that has no threads yet"}),
    Rule(free("kill", "killpg", "pidfd_send_signal"), "send signals by Process (larmor/base/process.h), which knows that the number is "
         "still the child's",
         {"larmor/base/process.cpp": "children that are not reaped",
          "larmor/codec/decoder_process.cpp": "a child that is not reaped",
          "larmor/launch/fault_point.cpp": "this process"}),
)


def check(root, _arguments=None):
    for path in source_tree.sources(root, FOLDERS):
        if source_tree.is_test_of_workload(path):
            continue
        text = blanked(read(root, path))
        for rule in RULES:
            for found in rule.calls.finditer(text):
                if str(path) not in rule.places:
                    line = text.count("\n", 0, found.start()) + 1
                    yield Problem(str(path), line, f"{found.group('name')}() is called here: {rule.instead}")


GOOD_TREE = {
    "larmor/base/descriptor.h": "int close() { return ::close(number_); }\n",
    "larmor/watch/fine.cpp": "// ::close(a), setenv(b)\nvoid f() { file.close(); a->kill(1); Door::close(2); }\n",
    "workloads/one/tests/a_test.cpp": "void f() { setenv(a, b, 1); ::close(3); }\n",
}

BAD_TREES = [
    ({"larmor/launch/a.cpp": "\nvoid f() { ::close(a); }\n"}, ["larmor/launch/a.cpp:2: close() is called here"]),
    ({"workloads/one/a.cpp": "void f() { setenv(a, b, 1); }\n"}, ["workloads/one/a.cpp:1: setenv() is called here"]),
    ({"larmor/nn/a.h": "void f() { ::umask(0); }\n"}, ["larmor/nn/a.h:1: umask() is called here"]),
    ({"larmor/launch/a.cpp": "void f() { ::kill(a, 9); }\n"}, ["a.cpp:1: kill() is called here"]),
    ({"app/a.cpp": "void f() { killpg(a, 9); }\n"}, ["app/a.cpp:1: killpg() is called here"]),
]


def self_test(folder):
    source_tree.write_tree(folder / "good", GOOD_TREE)
    source_tree.expect(check(folder / "good"), [])
    for number, (files, fragments) in enumerate(BAD_TREES):
        source_tree.write_tree(folder / str(number), GOOD_TREE | files)
        source_tree.expect(check(folder / str(number)), fragments)


if __name__ == "__main__":
    source_tree.main(check, self_test, __doc__)
