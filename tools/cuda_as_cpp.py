#!/usr/bin/env python3
"""Rewrites what only CUDA's compilers understand, so that a source of kernels is C++ (tests/cuda_on_cpu).

    cuda_as_cpp.py IN.cu OUT.cpp

A launch `kernel<<<blocks, threads, shared, stream>>>(arguments)` becomes a call of ::cuda_on_cpu::launch(), a variable in
shared memory a reference to memory that each block has of its own. The lines stay where they are.
"""

import re
import sys
import tempfile
from pathlib import Path

from source_tree import blanked

SHARED = re.compile(
    r"(?P<extern>\bextern\s+)?\b__shared__\s+(?P<aligned>(?:alignas|__align__)\s*\([^)]*\)\s*)?"
    r"(?P<type>[^;=]*?[\w>])\s*\b(?P<name>\w+)\s*(?P<sizes>(?:\[[^\]]*\]\s*)*);"
)


def start_of_bracket(text, close, pair):
    """Where the bracket opens that `close` closes; pair: "()" or "<>"."""
    depth = 0
    for place in range(close, -1, -1):
        if text[place] == pair[1]:
            depth += 1
        elif text[place] == pair[0]:
            depth -= 1
            if depth == 0:
                return place
    raise SystemExit(f"cuda_as_cpp.py: a {pair[1]} has no partner")


def start_of_kernel(text, end):
    """Of the kernel's name, with its template arguments, or of a parenthesis, before `end`."""
    last = end - 1
    while text[last].isspace():
        last -= 1
    if text[last] == ")":
        return start_of_bracket(text, last, "()")
    start = last + 1
    if text[last] == ">":
        start = start_of_bracket(text, last, "<>")
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_:"):
        start -= 1
    return start


def launches_as_calls(text):
    while (at := blanked(text).rfind("<<<")) >= 0:
        plain = blanked(text)
        close = plain.index(">>>", at)
        start = start_of_kernel(plain, at)
        kernel, configuration = text[start:at], text[at + 3:close]
        name = " ".join(kernel.split()).replace('"', "'")
        text = (f'{text[:start]}::cuda_on_cpu::launch("{name}", [&](auto... own) {{ {kernel}(own...); }}, {configuration})'
                f"{text[close + 3:]}")
    return text


def shared_memory_as_reference(text):
    """A block's memory of a place in the source: `[] {}` is of another type at each, and in each copy of a template."""
    for found in reversed(list(SHARED.finditer(blanked(text)))):
        kind, name, sizes = found["type"].strip(), found["name"], found["sizes"].strip()
        if found["extern"]:
            variable = f"{kind}* const {name} = ::cuda_on_cpu::launched_memory<{kind}>();"
        else:
            of = f"{kind}{sizes}"
            variable = f"auto& {name} = ::cuda_on_cpu::shared_memory<{of}>([] {{}});"
        lines = text.count("\n", found.start(), found.end())
        text = text[:found.start()] + variable + "\n" * lines + text[found.end():]
    return text


def as_cpp(text, source):
    rest = shared_memory_as_reference(launches_as_calls(text))
    return f'#include "cuda_on_cpu.h"\n#line 1 "{source}"\n{rest}'


def self_test():
    text = ("// a <<<b>>> of words\n"
            "__global__ void f(int* a) {\n  __shared__ double s[2 * n][3];\n  extern __shared__ float more[];\n"
            "  __shared__ int one;\n}\n"
            "void g() { (a ? f<1, T> : f<2, T>)<<<grid(1), 2, 0, stream>>>(x);\n  ns::f<T><<<1, 2>>>(x); }\n")
    rewritten = as_cpp(text, "f.cu")
    for wanted in ("auto& s = ::cuda_on_cpu::shared_memory<double[2 * n][3]>([] {});",
                   "float* const more = ::cuda_on_cpu::launched_memory<float>();",
                   "auto& one = ::cuda_on_cpu::shared_memory<int>([] {});",
                   '::cuda_on_cpu::launch("(a ? f<1, T> : f<2, T>)", [&](auto... own) '
                   "{ (a ? f<1, T> : f<2, T>)(own...); }, grid(1), 2, 0, stream)(x);",
                   '::cuda_on_cpu::launch("ns::f<T>", [&](auto... own) { ns::f<T>(own...); }, 1, 2)(x);',
                   "// a <<<b>>> of words"):
        if wanted not in rewritten:
            raise SystemExit(f"cuda_as_cpp.py --self-test: no\n{wanted}\nin\n{rewritten}")
    if rewritten.count("\n") != text.count("\n") + 2:
        raise SystemExit("cuda_as_cpp.py --self-test: lines have moved")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "f.cu"), Path(folder, "out", "f.cpp")
        source.write_text(text, encoding="utf-8")
        write(source, target)
        assert target.read_text(encoding="utf-8").endswith(rewritten.split("\n", 2)[2])
    print("cuda_as_cpp.py: self-test passed")


def write(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(as_cpp(source.read_text(encoding="utf-8"), source), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
