"""Verbs of the program as calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from typing import Any, Iterable, Union

from larmor.program import ENVIRONMENT, Unfit, start_of_program

Word = Union[str, "os.PathLike[str]"]
LINES_KEPT = 400  # of stderr; an error is its last block


class Error(RuntimeError):
    """What a verb refused or failed at. `message`, `hint` and `status` are those of docs/cli.md; `result` is the JSON that
    the verb gave all the same, as `inspect` does of files that it cannot read."""

    def __init__(self, message: str, hint: str = "", status: int = 1, result: Any = None) -> None:
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
        self.message, self.hint, self.status, self.result = message, hint, status, result


def run(*words: Word, **keys: Any) -> Any:
    """Runs a verb and returns its JSON: `run("train", "survival", "-c", "tiny", train__length="20st")`.

    Words are those of the command line. A key of the configuration may be said as an argument, with two underscores for
    a dot, or as `**{"train.length": "20st"}`; a list or dictionary is written as JSON. What the program says on stderr
    appears on sys.stderr as it comes. Ctrl-C stops the verb as it does in a terminal, and is raised when it has ended.
    Throws Error.
    """
    line = [os.fspath(word) for word in words]
    ours = [f"{key.replace('__', '.')}={written(value)}" for key, value in keys.items()] + ["--json"]
    end = line.index("--") if "--" in line else len(line)  # what follows belongs to the program that `launch` starts
    try:
        program, environment = start_of_program()
        process = subprocess.Popen([program, *line[:end], *ours, *line[end:]], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    except Unfit as unfit:
        raise Error(unfit.message, unfit.hint, ENVIRONMENT) from None
    except OSError as error:
        raise Error(f"larmor cannot be started: {error}", "LARMOR_PROGRAM names the program", ENVIRONMENT) from None
    with process:
        assert process.stdout is not None and process.stderr is not None
        said: deque[str] = deque(maxlen=LINES_KEPT)
        listener = threading.Thread(target=show, args=(process.stderr, said), daemon=True)
        listener.start()
        try:
            out = process.stdout.read()
            status = process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # a second one within a second counts as the same
            process.wait()
            raise
        listener.join()
    result = json.loads(out) if out.strip() else None
    if status != 0:
        message, hint = last_error(said)
        raise Error(message, hint, status if status > 0 else 128 - status, result)
    return result


def written(value: Any) -> str:
    """A value as the command line takes it."""
    return value if isinstance(value, str) else os.fspath(value) if isinstance(value, os.PathLike) else json.dumps(value)


def show(stream: Iterable[str], said: deque[str]) -> None:
    for line in stream:
        said.append(line.rstrip("\n"))
        sys.stderr.write(line)


def last_error(said: Iterable[str]) -> tuple[str, str]:
    """Message and hint of the error that stderr ends with."""
    block: list[str] = []
    for line in said:
        if line.startswith("larmor: "):
            block = [line[len("larmor: "):]]
        elif block:
            block.append(line)
    at = next((i for i, line in enumerate(block) if line.startswith("  hint: ")), len(block))
    message = "\n".join(block[:at]) or "larmor has ended without a word: a signal, or the loader of libraries"
    return message, "\n".join(block[at:])[len("  hint: "):]
