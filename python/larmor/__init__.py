"""Larmor from Python: the verbs of the native program, and its runs as tables.

Everything here is thin: `run` starts a verb and reads its JSON, `Run` reads the files of a run folder, `load` has the
verb `export` write weights and reads those. docs/python.md shows each; docs/cli.md says what verbs and files promise.
"""

from larmor.runs import Run, Table, load
from larmor.verbs import Error, run

__all__ = ["Error", "Run", "Table", "load", "run"]
