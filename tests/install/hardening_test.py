"""The programs are linked as decision 0017 says: python3 tests/install/hardening_test.py PROGRAM…

Held against binutils' readelf: position-independent, RELRO, immediate binding, a stack without code, no writable and
executable segment, no RUNPATH that depends on the current folder, stack protectors and FORTIFY. Calls itself once on a
program that is linked without all that, and has to find each fault.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, str(program)], capture_output=True, text=True, check=True).stdout


def faults_of(program):
    segments, dynamic = readelf("--program-headers", program), readelf("--dynamic", program)
    symbols = readelf("--dyn-syms", program)
    loaded = re.findall(r"^ +LOAD .* (R?W?[ E]*E?) +0x", segments, re.MULTILINE)
    stack = re.search(r"GNU_STACK.* (R?W?E?) +0x", segments)
    paths = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    entries = paths.group(1).split(":") if paths else []
    return [fault for fault, is_there in {
        "is not position-independent": not re.search(r"FLAGS_1.*\bPIE\b", dynamic),
        "has no RELRO": "GNU_RELRO" not in segments,
        "binds lazily": not re.search(r"FLAGS_1.*\bNOW\b", dynamic),
        "has a stack that may hold code": stack is None or "E" in stack.group(1),
        "has a segment that is written and executed": any("W" in flags and "E" in flags for flags in loaded),
        "looks for libraries in the current folder": any(not re.match(r"/|\$ORIGIN", entry) for entry in entries),
        "has no stack protectors": "__stack_chk_fail" not in symbols,
        "is without FORTIFY": not re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", "")),
    }.items() if is_there]


def weak_program(folder):
    source, program = folder / "weak.c", folder / "weak"
    source.write_text("#include <stdio.h>\nint main(int n, char** words) { char b[9]; sprintf(b, \"%d\", n); return puts(b) + !words; }\n")
    subprocess.run(["cc", source, "-o", program, "-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wl,-z,norelro",
                    "-Wl,-z,lazy", "-Wl,-z,execstack", "-Wl,-rpath,/somewhere:"], check=True)
    return program


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = faults_of(weak_program(pathlib.Path(folder)))
    # The system's linker makes no segment that is both.
    assert len(found) == 7 and "has a segment that is written and executed" not in found, found
    failures = [f"{program} {fault}" for program in sys.argv[1:] for fault in faults_of(program)]
    print("\n".join(failures))
    sys.exit(1 if failures or len(sys.argv) < 2 else 0)


if __name__ == "__main__":
    main()
