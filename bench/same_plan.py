#!/usr/bin/env python3
"""Plans the same run again and again while other programs come and go, and counts the answers.

    bench/same_plan.py build/test/bin/larmor [--times 12]

Every third plan the number of programs that compute beside changes: none, three, six. The first plan is made on
a machine as busy as --first says, with nothing kept of it. Precision, layout and threads have to be one answer."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BESIDE = (0, 3, 6)


def answer(program: str, folder: str) -> tuple:
    environment = {name: value for name, value in os.environ.items() if name != "LARMOR_FREE_CORES"}
    environment["XDG_CACHE_HOME"] = folder
    words = [program, "plan", "latent_diffusion", "-c", "tiny", "train.precision=auto", "--device", "cpu", "--json"]
    planned = subprocess.run(words, env=environment, cwd=folder, check=True, capture_output=True, text=True)
    plan = json.loads(planned.stdout)
    return plan["precision"], plan["layout"], plan["threads_per_rank"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--first", type=int, default=6, help="programs beside the first plan")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    answers = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.times):
            count = arguments.first if turn == 0 else BESIDE[(turn // 3) % len(BESIDE)]
            beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
            try:
                found = answer(program, folder)
            finally:
                for process in beside:
                    process.kill()
                    process.wait()
            answers[found] += 1
            print(f"beside {count} programs: {found[0]}, {found[1]}, {found[2]} threads", flush=True)
    print(f"{len(answers)} answer{'s' if len(answers) > 1 else ''} of {arguments.times}")
    return 0 if len(answers) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
