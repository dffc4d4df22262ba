"""Run folders: what docs/cli.md says of their files, as Python's own types."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from larmor.verbs import Error, run

if TYPE_CHECKING:
    import pandas
    import torch

Folder = Union[str, "os.PathLike[str]"]
ENVIRONMENT, USAGE = 4, 2


class Table(list[dict[str, Any]]):
    """Rows, each with its columns by name. A column that a row lacks was not measured there."""

    def frame(self) -> pandas.DataFrame:
        """The rows as pandas has them. Throws Error where there is no pandas."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise Error("a frame is pandas', which this Python does not have", "pip install pandas", ENVIRONMENT) from error
        return DataFrame(list(self))


class Run:
    """A run, by its folder or its name below runs. Everything is read when it is asked for: a run that trains may be
    looked at."""

    def __init__(self, folder: Folder) -> None:
        """Throws Error where no run is."""
        places = [Path(folder), Path("runs") / folder]
        found = [place for place in places if (place / "config.yaml").is_file()]
        if not found:
            raise Error(f"there is no run {folder}: neither that folder nor {places[1]} holds a config.yaml",
                        "give the folder of a run, or its name below runs", USAGE)
        self.folder = found[0].resolve()

    def __repr__(self) -> str:
        return f"larmor.Run({str(self.folder)!r})"

    @property
    def environment(self) -> dict[str, Any]:
        """environment.json: workload, stage, build, where the data are."""
        return self._document("environment.json")

    @property
    def plan(self) -> dict[str, Any]:
        return self._document("plan.json")

    @property
    def hardware(self) -> dict[str, Any]:
        return self._document("hardware.json")

    @property
    def config(self) -> dict[str, str]:
        """Every key of the configuration with its value, in the words that `key=value` takes."""
        used = self.environment
        rows = run("config", "show", used["workload"], "--stage", used["stage"], "-c", self.folder / "config.yaml", "--quiet")
        return {row["key"]: row["value"] for row in rows}

    @property
    def status(self) -> dict[str, Any]:
        """`state` is done, failed or unfinished (it may be training); with the first two, what DONE or FAILED say."""
        for state, name in (("done", "DONE"), ("failed", "FAILED")):
            try:
                return {"state": state, **self._document(name)}
            except FileNotFoundError:
                continue
        return {"state": "unfinished"}

    @property
    def events(self) -> Table:
        """events.jsonl, a row a line. A last line that is still being written is left out."""
        table = Table()
        with open(self.folder / "events.jsonl", encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    table.append(json.loads(line))
        return table

    @property
    def figures(self) -> Table:
        """A row a step with `step`, `epoch`, `examples` and all that was measured there, in training and validation. Steps
        that a later start has done again are those of the later start."""
        rows: dict[int, dict[str, Any]] = {}
        for event in self.events:
            step = event["step"]
            if event["kind"] == "start":
                rows = {of: row for of, row in rows.items() if of <= step}
            elif event["kind"] in ("step", "validation"):
                row = rows.setdefault(step, {"step": step, "epoch": event["epoch"], "examples": event["examples"]})
                row.update(event["values"])
        return Table(rows[step] for step in sorted(rows))

    @property
    def pictures(self) -> list[Path]:
        """The pictures of the run, and the curves, by name."""
        return sorted([*self.folder.glob("curves.png"), *self.folder.glob("pictures/**/*.png")])

    @property
    def checkpoints(self) -> Table:
        """What `larmor checkpoint list` shows, which reads every byte of them."""
        return Table(run("checkpoint", "list", self.folder, "--quiet"))

    def load(self, checkpoint: str = "best", ema: Optional[bool] = None) -> dict[str, torch.Tensor]:
        return load(self.folder, checkpoint, ema)

    def _document(self, name: str) -> dict[str, Any]:
        with open(self.folder / name, encoding="utf-8") as file:
            document: dict[str, Any] = json.load(file)
        return document


def load(folder: Folder, checkpoint: str = "best", ema: Optional[bool] = None) -> dict[str, torch.Tensor]:
    """The weights of a run under the reference network's names, as `larmor export` gives them. `checkpoint` is best, last,
    a name or a path; `ema` takes the averaged weights, or does not; by default what the stage predicts by. Throws
    Error."""
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise Error(f"larmor.load gives tensors, and this Python lacks {error.name}", "pip install safetensors", ENVIRONMENT) from error
    averaged = [] if ema is None else ["--ema" if ema else "--no-ema"]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "model.safetensors"
        run("export", folder, "--checkpoint", checkpoint, "--output", file, "--quiet", *averaged)
        weights: dict[str, torch.Tensor] = load_file(file)
    return weights
