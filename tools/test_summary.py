#!/usr/bin/env python3
"""How many tests passed, failed and were skipped, and why: what ctest and the test binaries reported, in one line.

ctest counts binaries, and one of which a part was skipped is "Passed" there. Each binary of gtest writes what became of
its cases to FOLDER/<name of the test>.xml; what ctest ran without such a file (checks, a binary that crashed) counts as
one test. FUZZ, where given, is the report of tools/fuzz.py.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Summary:
    passed: int = 0
    failed: list = field(default_factory=list)  # names
    skipped: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))  # reason -> binary -> count

    def skipped_count(self):
        return sum(sum(places.values()) for places in self.skipped.values())

    def lines(self):
        if self.skipped:
            yield "skipped:"
        for reason, places in sorted(self.skipped.items(), key=lambda item: (-sum(item[1].values()), item[0])):
            yield f"{sum(places.values()):5}  {reason} ({', '.join(sorted(places))})"
        if self.failed:
            yield "failed:"
        for name in self.failed:
            yield f"       {name}"
        yield f"{self.passed} passed, {len(self.failed)} failed, {self.skipped_count()} skipped"


def reason_of(skipped):
    """What a test said when it skipped itself: gtest puts the place in the source before it."""
    words = (skipped.get("message") or skipped.text or "").strip()
    lines = words.splitlines()
    if lines and re.fullmatch(r".*\.(cpp|h):\d+", lines[0]):
        lines = lines[1:]
    return " ".join(line.strip() for line in lines) or "no reason given"


def add_cases(summary, binary, report):
    """The cases of one binary; how many of them failed."""
    failed = 0
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f"{binary}: {case.get('classname')}.{case.get('name')}"
        if case.get("status") == "notrun":  # not chosen, or disabled
            continue
        if case.find("failure") is not None:
            summary.failed.append(name)
            failed += 1
        elif case.find("skipped") is not None:
            summary.skipped[reason_of(case.find("skipped"))][binary] += 1
        else:
            summary.passed += 1
    return failed


def add_entry(summary, entry, report):
    """One test of ctest. status: run, fail, notrun (skipped), disabled."""
    name, status = entry.get("name"), entry.get("status")
    failed_cases = 0
    if report.is_file():
        try:
            failed_cases = add_cases(summary, name, report)
        except ET.ParseError:
            status = "fail"
        if status == "fail" and failed_cases == 0:
            summary.failed.append(f"{name}: ended badly after its cases")
    elif status == "run":
        summary.passed += 1
    elif status == "fail":
        summary.failed.append(f"{name}: did not come to its end, or is no test of gtest")
    else:
        reason = entry.find("skipped")
        summary.skipped[reason.get("message") if reason is not None else "not run"][name] += 1


def summarise(ctest_reports, cases_folder, fuzz_report=None):
    summary = Summary()
    for report in ctest_reports:
        if not report.is_file():
            summary.failed.append(f"{report.name}: ctest did not come to its end")
            continue
        for entry in ET.parse(report).getroot().iter("testcase"):
            add_entry(summary, entry, cases_folder / f"{entry.get('name')}.xml")
    if fuzz_report is not None and not fuzz_report.is_file():
        summary.failed.append("fuzz: did not come to its end")
    elif fuzz_report is not None:
        for target in json.loads(fuzz_report.read_text(encoding="utf-8")):
            if target["finding"]:
                summary.failed.append(f"fuzz {target['target']}: {target['finding']}")
            else:
                summary.passed += 1
    return summary


CASES = """<testsuites><testsuite name="A">
<testcase name="Works" classname="A" status="run" result="completed"/>
<testcase name="Breaks" classname="A" status="run" result="completed"><failure message="a.cpp:3&#x0A;no"/></testcase>
<testcase name="Waits" classname="A" status="run" result="skipped"><skipped message="a.cpp:4&#x0A;no images"/></testcase>
<testcase name="Too" classname="A" status="run" result="skipped"><skipped message="a.cpp:5&#x0A;no images"/></testcase>
<testcase name="Other" classname="A" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""

ENTRIES = """<testsuite>
<testcase name="a_test" status="fail"/>
<testcase name="check_a" status="run"/>
<testcase name="crashed_test" status="fail"/>
<testcase name="check_b" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"found {found!r}\nwanted {wanted!r}")


def test_reading(folder):
    (folder / "report.xml").write_text(ENTRIES)
    (folder / "a_test.xml").write_text(CASES)
    (folder / "fuzz.json").write_text(json.dumps([{"target": "png", "finding": ""}, {"target": "npz", "finding": "oom"}]))
    summary = summarise([folder / "report.xml"], folder, folder / "fuzz.json")
    expect(list(summary.lines()), [
        "skipped:",
        "    2  no images (a_test)",
        "    1  SKIP_RETURN_CODE=77 (check_b)",
        "failed:",
        "       a_test: A.Breaks",
        "       crashed_test: did not come to its end, or is no test of gtest",
        "       fuzz npz: oom",
        "3 passed, 3 failed, 3 skipped",
    ])
    expect(summarise([folder / "report.xml"], folder, folder / "no.json").failed[-1], "fuzz: did not come to its end")
    expect(summarise([folder / "no.xml"], folder).failed, ["no.xml: ctest did not come to its end"])
    (folder / "more.xml").write_text('<testsuite><testcase name="check_c" status="run"/></testsuite>')
    expect(summarise([folder / "report.xml", folder / "more.xml"], folder).passed, 3)
    # A binary whose cases all passed, and that broke at its end.
    (folder / "a_test.xml").write_text('<testsuites><testcase name="Works" classname="A" status="run"/></testsuites>')
    expect(summarise([folder / "report.xml"], folder).failed[0], "a_test: ended badly after its cases")


def test_outcomes(folder, binary, skip_status):
    """The real thing: ctest over a binary of real gtest, with the properties that cmake/layer.cmake sets."""
    chosen = {"passing": "Passed.*", "skipping": "Skipped*", "partly": "Passed.*:Skipped*", "failing": "Failed.*",
              "failing_and_skipping": "Failed.*:Skipped*", "crashing": "Crashed.*"}
    tests = ""
    for name, cases in chosen.items():
        tests += (f'add_test({name} "{binary}" --gtest_brief=1 --gtest_filter={cases}'
                  f" --gtest_output=xml:{folder}/{name}.xml)\n"
                  f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE {skip_status})\n")
    (folder / "CTestTestfile.cmake").write_text(tests)
    shown = subprocess.run(["ctest", "--output-junit", folder / "report.xml"], cwd=folder, capture_output=True, text=True)
    said = {name: re.search(rf" {name} \.+.*?(Passed|\*\*\*\w+)", shown.stdout).group(1) for name in chosen}
    expect(said, {"passing": "Passed", "skipping": "***Skipped", "partly": "Passed", "failing": "***Failed",
                  "failing_and_skipping": "***Failed", "crashing": "***Exception"})
    summary = summarise([folder / "report.xml"], folder)
    expect(list(summary.lines()), [
        "skipped:",
        "    3  no launcher (failing_and_skipping, partly, skipping)",
        "    3  no root (failing_and_skipping, partly, skipping)",
        "failed:",
        "       failing: Failed.One",
        "       failing_and_skipping: Failed.One",
        "       crashing: did not come to its end, or is no test of gtest",
        "2 passed, 3 failed, 6 skipped",
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, nargs="?", help="what ctest --output-junit wrote")
    parser.add_argument("cases", type=Path, nargs="?", metavar="FOLDER", help="the reports of the binaries")
    parser.add_argument("--also", type=Path, action="append", default=[], help="another report of ctest")
    parser.add_argument("--fuzz", type=Path, help="the report of tools/fuzz.py")
    parser.add_argument("--self-test", action="store_true", help="show the tool outcomes of every kind")
    parser.add_argument("--outcomes", type=Path, help="for --self-test: tests/architecture/outcomes.cpp, built")
    parser.add_argument("--skip-status", help="for --self-test: the status of a binary that skipped every test")
    arguments = parser.parse_args()
    if arguments.self_test:
        with tempfile.TemporaryDirectory() as folder:
            test_reading(Path(folder))
        if arguments.outcomes:
            with tempfile.TemporaryDirectory() as folder:
                test_outcomes(Path(folder), arguments.outcomes, arguments.skip_status)
        print("self-test passed")
        return 0
    summary = summarise([arguments.report, *arguments.also], arguments.cases, arguments.fuzz)
    print("\n".join(summary.lines()))
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
