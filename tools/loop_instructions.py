#!/usr/bin/env python3
"""How many instructions a kernel's loops take, from what `cuobjdump -sass FILE.o` prints: what a voxel costs a card.

    cuobjdump -sass group_norm_silu_cuda.cu.o | python3 tools/loop_instructions.py 'BFloat16.*Li8ELi8'

A line for each loop of the kernels whose mangled names match: instructions of its body, loads of 16 bytes in it, and
instructions an element of the pack that such a load brings (--elements of them, of one tensor or, --tensors 2, of two).
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
    """[(instructions, loads of 16 bytes)] of each stretch that a branch goes back over."""
    loops = []
    for address, instruction in kernel:
        branch = re.search(r"\bBRA\b.*0x([0-9a-f]+)", instruction)
        if branch and int(branch.group(1), 16) < address:
            body = [words for place, words in kernel if int(branch.group(1), 16) <= place <= address]
            loops.append((len(body), sum("LDG.E.128" in words for words in body)))
    return loops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", help="a regular expression")
    parser.add_argument("--elements", type=int, default=8, help="of a load of 16 bytes")
    parser.add_argument("--tensors", type=int, default=1, help="that an element is read of")
    run = parser.parse_args()
    for name, kernel in kernels_in(sys.stdin).items():
        if not re.search(run.names, name):
            continue
        for instructions, loads in loops_of(kernel):
            if loads:
                each = instructions * run.tensors / (loads * run.elements)
                print(f"{instructions:5d} instructions, {loads} loads, {each:5.1f} an element: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
