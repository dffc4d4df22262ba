#!/usr/bin/env python3
"""How many instructions a kernel's loops take, from what `cuobjdump -sass FILE.o` prints: what a voxel costs a card.

    cuobjdump -sass group_norm_silu_cuda.cu.o | python3 tools/loop_instructions.py 'BFloat16.*Li8ELi8'

A line for each loop of the kernels whose mangled names match: instructions of its body, loads of 16 bytes in it and of
these so many under way at once, and instructions an element of the pack that such a load brings (--elements of them, of
one tensor or, --tensors 2, of two).

    cuobjdump -arch sm_90 -sass FILE.o | python3 tools/loop_instructions.py --limits tools/loop_limits.txt

holds kernels to the limits of a file, in their loop with the most loads; none may spill. Status 1: one does not keep to it.
"""

import argparse
import re
import sys


def kernels_in(lines):
    """{mangled name: [(address, instruction)]}."""
    found, current = {}, None
    for line in lines:
        if name := re.search(r"Function : (\S+)", line):
            current = found.setdefault(name.group(1), [])
        elif current is not None and (one := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", line)):
            current.append((int(one.group(1), 16), one.group(2)))
    return found


def loops_of(kernel):
    """[(instructions, loads of 16 bytes, of these under way at once)] of each stretch that a branch goes back over."""
    loops = []
    for address, instruction in kernel:
        branch = re.search(r"\bBRA\b.*0x([0-9a-f]+)", instruction)
        if branch and int(branch.group(1), 16) < address:
            body = [words for place, words in kernel if int(branch.group(1), 16) <= place <= address]
            loops.append((len(body), sum("LDG.E.128" in words for words in body), under_way(body)))
    return loops


def registers_of(words):
    """The numbers of an instruction's registers; of the four that a load of 16 bytes fills, the first."""
    return [int(number) for number in re.findall(r"\bR(\d+)\b", words)]


def under_way(body):
    """The most loads of 16 bytes whose registers nothing has touched yet. The body is gone through twice, as it follows
    upon itself."""
    waited_for, most = [], 0
    for words in body + body:
        registers = registers_of(words)
        waited_for = [first for first in waited_for if not any(first <= one < first + 4 for one in registers)]
        if "LDG.E.128" in words and registers:
            waited_for.append(registers[0])
        most = max(most, len(waited_for))
    return most


def instructions_of_element(loop, elements, tensors):
    instructions, loads, _ = loop
    return instructions * tensors / (loads * elements)


def read_limits(path):
    """[(regular expression of a name, tensors, most instructions an element, least loads under way)]."""
    limits = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if words := line.split("#")[0].split():
                limits.append((words[0], int(words[1]), float(words[2]), int(words[3])))
    return limits


def check(kernels, limits, elements):
    """What is wrong, a line each; prints what was found."""
    for names, tensors, most, least in limits:
        held = {name: kernel for name, kernel in kernels.items() if re.search(names, name)}
        if not held:
            yield f"{names}: no such kernel"
        for name, kernel in held.items():
            loops = [loop for loop in loops_of(kernel) if loop[1]]
            if not loops:
                yield f"{names}: no loop has loads of 16 bytes: {name}"
                continue
            loop = max(loops, key=lambda one: one[1])
            each = instructions_of_element(loop, elements, tensors)
            spills = sum(bool(re.search(r"\b(STL|LDL)\b", words)) for _, words in kernel)
            print(f"{names}: {each:.1f} instructions an element, {loop[2]} loads under way, {spills} spills")
            if each > most:
                yield f"{names}: {each:.1f} instructions an element, where {most:g} are allowed: {name}"
            if loop[2] < least:
                yield f"{names}: {loop[2]} loads under way, where {least} are wanted: {name}"
            if spills:
                yield f"{names}: {spills} accesses of memory that registers have spilled to: {name}"


SELF_TEST = """
\t\tFunction : _Z3oneIBFloat16E
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.128 R12, desc[UR4][R4.64] ;
        /*0030*/                   FADD R20, R9, R15 ;
        /*0040*/              @!P0 BRA 0x10 ;
\t\tFunction : _Z3twoIBFloat16E
        /*0000*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0010*/                   FADD R20, R8, R8 ;
        /*0020*/                   LDG.E.128 R12, desc[UR4][R4.64] ;
        /*0030*/                   STL [R1], R12 ;
        /*0040*/              @!P0 BRA 0x0 ;
"""


def self_test():
    kernels = kernels_in(SELF_TEST.splitlines())
    assert loops_of(kernels["_Z3oneIBFloat16E"]) == [(4, 2, 2)], loops_of(kernels["_Z3oneIBFloat16E"])
    assert loops_of(kernels["_Z3twoIBFloat16E"]) == [(5, 2, 1)], loops_of(kernels["_Z3twoIBFloat16E"])
    assert not list(check(kernels, [("one", 1, 0.25, 2)], 8))
    wrong = list(check(kernels, [("two", 1, 0.3, 2), ("three", 1, 9, 0)], 8))
    for word in ("0.3 instructions an element, where 0.3", "1 loads under way", "1 accesses", "no such kernel"):
        assert any(word in line for line in wrong), (word, wrong)
    print("loop_instructions.py: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="?", help="a regular expression")
    parser.add_argument("--elements", type=int, default=8, help="of a load of 16 bytes")
    parser.add_argument("--tensors", type=int, default=1, help="that an element is read of")
    parser.add_argument("--limits", help="a file of limits")
    parser.add_argument("--self-test", action="store_true")
    run = parser.parse_args()
    if run.self_test:
        self_test()
        return 0
    kernels = kernels_in(sys.stdin)
    if run.limits:
        wrong = list(check(kernels, read_limits(run.limits), run.elements))
        for line in wrong:
            print(f"loop_instructions.py: {line}", file=sys.stderr)
        return 1 if wrong else 0
    for name, kernel in kernels.items():
        if not re.search(run.names or "", name):
            continue
        for loop in loops_of(kernel):
            if loop[1]:
                each = instructions_of_element(loop, run.elements, run.tensors)
                print(f"{loop[0]:5d} instructions, {loop[1]} loads, {loop[2]} under way, {each:5.1f} an element: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
