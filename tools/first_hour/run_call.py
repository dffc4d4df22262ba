#!/usr/bin/env python3
"""One call to a machine with a card: rows one after the other, each with a limit of time; what they found comes back as
OUT/table.txt (a line each, written anew after each row, so that a call that is cut off gives what it had) and OUT/log.txt.

    python3 run_call.py 1|2|3 [--rows a,b,…] [--seconds N] [--rehearse]
    python3 run_call.py --self-test

A row passes when its command ends with 0. Its figures are the lines that begin with "figures: ", and the sums that
googletest and compute-sanitizer print. Rows that are marked with the same word run beside one another. Status 1: a row
failed, or was out of time.
"""

import argparse
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIGURES = re.compile(r"^(?:figures: (?P<said>.*)|\[  (?P<sum>(?:PASSED|FAILED|SKIPPED) +\] \d+ tests?).*"
                     r"|=+ (?P<errors>ERROR SUMMARY: .*))$", re.MULTILINE)
MOST_OF_A_LOG = 1 << 20  # bytes of a row's output that are kept: its beginning and its end
GRACE = 3                # seconds between SIGTERM and SIGKILL


@dataclasses.dataclass
class Row:
    name: str
    command: list
    passes: str              # in words
    seconds: float           # after so many it is ended
    usual: float = 10        # with fewer seconds left it is not started
    beside: str = ""         # rows in a row with the same word run together
    environment: dict = dataclasses.field(default_factory=dict)
    needs: list = dataclasses.field(default_factory=list)  # programs and files without which it is skipped
    says: str = ""           # without it in its output it fails
    shows: str = ""          # whole lines that match this are figures as well


@dataclasses.dataclass
class Outcome:
    row: Row
    what: str = "not started"
    seconds: float = 0
    figures: list = dataclasses.field(default_factory=list)

    def line(self):
        return f"{self.row.name:28} {self.what:12} {self.seconds:6.1f} s  " + "; ".join(self.figures)


def missing(row):
    return [need for need in row.needs if not shutil.which(str(need)) and not Path(need).exists()]


def figures_of(output, shows=""):
    shown = re.findall(f"^{shows}$", output, re.MULTILINE) if shows else []
    return [" ".join(line.split()) for line in shown] + [next(group for group in match.groups() if group is not None)
                                                         for match in FIGURES.finditer(output)]


def reason_in(output):
    """What our program says of an error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("figures: ")]
    said = [line for line in lines if line.startswith("larmor: ")] or lines[-1:]
    return said[0][:200] if said else "it said nothing"


def shortened(output):
    if len(output) <= MOST_OF_A_LOG:
        return output
    half = MOST_OF_A_LOG // 2
    return f"{output[:half]}\n… {len(output) - 2 * half} characters left out …\n{output[-half:]}"


def end_group(process):
    """Ends the process and all that it has started: they share its group."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass
        time.sleep(0.1)


class Call:
    def __init__(self, rows, out, seconds, show=print):
        self.outcomes = [Outcome(row) for row in rows]
        self.out, self.deadline, self.show = Path(out), time.monotonic() + seconds, show
        self.out.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="first-hour-"))
        self.write_table()

    def left(self):
        return self.deadline - time.monotonic()

    def groups(self):
        """Outcomes that run together, in order."""
        together = []
        for outcome in self.outcomes:
            if together and outcome.row.beside and together[-1].row.beside == outcome.row.beside:
                together.append(outcome)
                continue
            if together:
                yield together
            together = [outcome]
        if together:
            yield together

    def run(self):
        for together in self.groups():
            started = []
            for outcome in together:
                lacking = missing(outcome.row)
                if lacking:
                    outcome.what, outcome.figures = "skipped", ["there is no " + ", ".join(map(str, lacking))]
                elif self.left() >= outcome.row.usual:
                    started.append((outcome, *self.start(outcome.row)))
            self.wait(started)
            for outcome in together:
                self.show(outcome.line())
            self.write_table()
        shutil.rmtree(self.scratch, ignore_errors=True)
        return 1 if any(outcome.what in ("failed", "out of time") for outcome in self.outcomes) else 0

    def start(self, row):
        output = self.scratch / f"{row.name}.txt"
        with open(output, "wb") as file:
            try:
                process = subprocess.Popen([str(word) for word in row.command], stdin=subprocess.DEVNULL, stdout=file,
                                           stderr=subprocess.STDOUT, start_new_session=True,
                                           env={**os.environ, **row.environment})
            except OSError as error:
                file.write(f"cannot be started: {error}\n".encode())
                process = None
        return process, output, time.monotonic(), min(row.seconds, self.left())

    def wait(self, started):
        """Until each has ended, by itself or by its limit."""
        waiting = list(started)
        while waiting:
            for entry in list(waiting):
                outcome, process, output, begun, limit = entry
                spent = time.monotonic() - begun
                status = 127 if process is None else process.poll()
                if status is None and spent <= limit:
                    continue
                if status is None:
                    end_group(process)
                outcome.seconds = spent
                self.note(outcome, output, status)
                waiting.remove(entry)
            time.sleep(0.05)

    def note(self, outcome, output, status):
        text = output.read_text(encoding="utf-8", errors="replace")
        outcome.figures = figures_of(text, outcome.row.shows)
        tested_nothing = any(re.fullmatch(r"PASSED +\] 0 tests?", figure) for figure in outcome.figures)
        says = re.search(outcome.row.says, text) is not None
        passed = status == 0 and says and not tested_nothing
        outcome.what = "out of time" if status is None else "passed" if passed else "failed"
        if outcome.what == "failed":
            outcome.figures.append(f"status {status}: " + (reason_in(text) if status or says else f"it does not say {outcome.row.says}"))
        with open(self.out / "log.txt", "a", encoding="utf-8") as log:
            log.write(f"\n===== {outcome.row.name}: {outcome.what} after {outcome.seconds:.1f} s; passes when "
                      f"{outcome.row.passes}\n===== {' '.join(map(str, outcome.row.command))}\n{shortened(text)}")
        self.write_table()

    def write_table(self):
        whole = self.out / "table.txt.partial"
        whole.write_text("".join(outcome.line() + "\n" for outcome in self.outcomes), encoding="utf-8")
        whole.replace(self.out / "table.txt")


def self_test():
    """Rows that pass, fail, take too long, lack a program, and have no time left."""
    def python(text):
        return [sys.executable, "-c", text]

    rows = [
        Row("good", python("print('figures: 3.0 TB/s'); print('[  PASSED  ] 7 tests.')"), "it ends with 0", 20, 0),
        Row("bad", python("print('larmor: no driver\\nhint'); raise SystemExit(3)"), "never", 20, 0, beside="a"),
        Row("slow", ["bash", "-c", "echo begun; sleep 60 & sleep 60"], "never", 0.7, 0, beside="a"),
        Row("elsewhere", ["true"], "never", 20, 0, needs=["no-such-program"]),
        Row("nowhere", ["/no/such/program"], "never", 20, 0),
        Row("late", ["true"], "never", 20, 1000),
        Row("empty", python("print('[  PASSED  ] 0 tests.')"), "a test ran", 20, 0),
        Row("silent", ["true"], "it says so", 20, 0, says="1 GPU"),
        Row("shown", python("print('a\\n  GPU 0   H100\\nb')"), "always", 20, 0, shows=" *GPU 0.*"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        call = Call(rows, folder, 30, show=lambda line: None)
        assert (Path(folder) / "table.txt").read_text().count("not started") == len(rows)
        assert call.run() == 1
        assert time.monotonic() - begun < 15, "a row went on after its limit"
        table = (Path(folder) / "table.txt").read_text().splitlines()
        log = (Path(folder) / "log.txt").read_text()
        found = [" ".join(line.split()[1:4]) for line in table]
        for line, words in zip(found, ("passed", "failed", "out of time", "skipped", "failed", "not started", "failed",
                                      "failed", "passed")):
            assert line.startswith(words), (line, words)
        assert "3.0 TB/s; PASSED  ] 7 tests" in table[0] and "status 3: larmor: no driver" in table[1], table
        assert "begun" in log and "no-such-program" in table[3] and "status 127" in table[4], log
        assert table[8].endswith("s  GPU 0 H100"), table
        assert Call(rows[:1], folder, 30, show=lambda line: None).run() == 0
        assert [len(group) for group in Call(rows, folder, 1).groups()] == [1, 2, 1, 1, 1, 1, 1, 1]
    assert len(shortened("x" * (MOST_OF_A_LOG * 2))) < MOST_OF_A_LOG + 100
    print("self-test passed")


def main():
    import call_rows
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("call", nargs="?", type=int, choices=(1, 2, 3))
    parser.add_argument("--rows", default="", help="some rows only")
    parser.add_argument("--seconds", type=float, help="of the whole call; what does not fit is not started")
    parser.add_argument("--rehearse", action="store_true", help="without a card: emulated ones, and CPUs at small sizes")
    parser.add_argument("--self-test", action="store_true")
    run = parser.parse_args()
    if run.self_test:
        return self_test()
    if run.call is None:
        parser.error("which call: 1, 2 or 3")
    out = Path(os.environ.get("OUT", "first-hour-out"))
    rows = call_rows.rows_of(run.call, out, run.rehearse)
    wanted = [name for name in run.rows.split(",") if name]
    unknown = set(wanted) - {row.name for row in rows}
    if unknown:
        parser.error(f"call {run.call} has no row {', '.join(sorted(unknown))}; it has {', '.join(row.name for row in rows)}")
    chosen = [row for row in rows if not wanted or row.name in wanted]
    seconds = run.seconds or call_rows.SECONDS[run.call]
    status = Call(chosen, out, seconds).run()
    print("\n" + (out / "table.txt").read_text(), end="", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
