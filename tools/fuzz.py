#!/usr/bin/env python3
"""Runs the fuzz targets of a build folder, as many at a time as there are cores, and tells in a table what each did.

New edges are branches of the readers that no seed and no input of earlier runs had come to. A finding is written to
BUILD/findings and ends this with 1. What the targets begin with: BUILD/seeds (write_seeds), BUILD/corpus (earlier
runs), tests/fuzz/found (inputs that once broke something); their words: tests/fuzz/dictionaries.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "fuzz"
LONGEST_INPUT, MEMORY_MIB, INPUT_SECONDS = 4096, 2048, 10


@dataclass
class Outcome:
    target: str
    executions: int = 0
    edges: int = 0
    new_edges: int = 0
    memory_mib: int = 0
    seconds: float = 0.0
    finding: str = ""


def number(pattern, text, which=0):
    found = re.findall(pattern, text)
    return int(found[which]) if found else 0


def outcome_of(target, status, output, seconds):
    """What libFuzzer printed, and how it ended."""
    first = number(r"#\d+\s+INITED cov: (\d+)", output)
    last = number(r"#\d+\s+\w+ +cov: (\d+)", output, -1)
    executions = number(r"stat::number_of_executed_units: (\d+)", output) or number(r"#(\d+)\s", output, -1)
    finding = ""
    if status != 0:
        said = re.findall(r"^(?:BROKEN|SUMMARY|==\d+== ERROR|.*runtime error): .*$", output, re.MULTILINE)
        finding = said[0] if said else f"ended with status {status}"
    return Outcome(target, executions, last, max(last - first, 0) if first else 0,
                   number(r"stat::peak_rss_mb: +(\d+)", output), round(seconds, 1), finding)


def run_target(build, target, seconds):
    corpus, findings = build / "corpus" / target, build / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    inputs = [corpus] + [folder for folder in (build / "seeds" / target, SOURCES / "found" / target) if folder.is_dir()]
    dictionary = SOURCES / "dictionaries" / f"{target}.dict"
    command = [build / "tests" / "fuzz" / f"{target}_fuzz", f"-max_len={LONGEST_INPUT}", f"-rss_limit_mb={MEMORY_MIB}",
               f"-timeout={INPUT_SECONDS}", "-print_final_stats=1", f"-artifact_prefix={findings / target}-",
               f"-max_total_time={seconds}"]
    if dictionary.is_file():
        command.append(f"-dict={dictionary}")
    environment = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=16", "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    done = subprocess.run([str(word) for word in command + inputs], capture_output=True, text=True, errors="replace",
                          env=environment)
    outcome = outcome_of(target, done.returncode, done.stdout + done.stderr, time.monotonic() - began)
    (build / "findings" / f"{target}.log").write_text(done.stderr, encoding="utf-8")
    return outcome


def table(outcomes):
    yield f"{'target':12} {'executions':>12} {'edges':>7} {'new edges':>10} {'memory':>9} {'time':>8}  finding"
    for one in outcomes:
        yield (f"{one.target:12} {one.executions:12,} {one.edges:7,} {one.new_edges:10,} {one.memory_mib:5} MiB"
               f" {one.seconds:6.0f} s  {one.finding or 'none'}")
    total = sum(one.executions for one in outcomes)
    yield f"{total:,} executions of {len(outcomes)} targets, {sum(bool(one.finding) for one in outcomes)} findings"


def fuzz(build, targets, seconds, jobs):
    subprocess.run([build / "tests" / "fuzz" / "oracles_check"], check=True)
    subprocess.run([build / "tests" / "fuzz" / "write_seeds", build / "seeds"], check=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(lambda target: run_target(build, target, seconds), targets))
    return outcomes


SOUND = """#26\tINITED cov: 1200 ft: 3000 corp: 20/4096b exec/s: 0 rss: 60Mb
#512\tNEW    cov: 1210 ft: 3100 corp: 21/4100b lim: 4096 exec/s: 0 rss: 61Mb L: 20/20 MS: 1 ChangeBit-
#90000\tDONE   cov: 1234 ft: 3200 corp: 40/9Kb lim: 4096 exec/s: 9000 rss: 70Mb
stat::number_of_executed_units: 90000
stat::peak_rss_mb:              71
"""
BROKEN = """#26\tINITED cov: 1200 ft: 3000 corp: 20/4096b exec/s: 0 rss: 60Mb
#512\tNEW    cov: 1210 ft: 3100 corp: 21/4100b lim: 4096 exec/s: 0 rss: 61Mb
BROKEN: two fillings of memory give two results
==12== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
"""


def self_test():
    sound = outcome_of("png", 0, SOUND, 10.0)
    broken = outcome_of("npz", 77, BROKEN, 1.0)
    silent = outcome_of("csv", -11, "", 1.0)
    assert sound == Outcome("png", 90000, 1234, 34, 71, 10.0, ""), sound
    assert broken == Outcome("npz", 512, 1210, 10, 0, 1.0, "BROKEN: two fillings of memory give two results"), broken
    assert silent.finding == "ended with status -11", silent
    assert list(table([sound, broken]))[-1] == "90,512 executions of 2 targets, 1 findings"
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--seconds", type=float, default=10, help="for each target")
    parser.add_argument("--minutes", type=float, help="for all of them together, instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at a time")
    parser.add_argument("--report", type=Path, help="the table as JSON, for tools/test_summary.py")
    parser.add_argument("--self-test", action="store_true", help="show the tool what libFuzzer prints")
    parser.add_argument("targets", nargs="*", help="all when none is named")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    targets = arguments.targets or sorted(path.stem.removesuffix("_fuzz") for path in SOURCES.glob("*_fuzz.cpp"))
    seconds = arguments.seconds
    if arguments.minutes:
        rounds = -(-len(targets) // arguments.jobs)  # of targets at a time
        seconds = arguments.minutes * 60 / rounds
    outcomes = fuzz(arguments.build.resolve(), targets, max(round(seconds), 1), arguments.jobs)
    print("\n".join(table(outcomes)))
    if arguments.report:
        arguments.report.write_text(json.dumps([asdict(one) for one in outcomes], indent=1), encoding="utf-8")
    return 1 if any(one.finding for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
