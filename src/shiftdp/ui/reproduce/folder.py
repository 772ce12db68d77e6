"""The folder: CSV and LaTeX for every table, PNG, SVG and CSV for every figure, and the page."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp.ui.plots.style import write
from shiftdp.ui.reproduce.contents import Reproduction
from shiftdp.ui.reproduce.grid import entries_csv, grid_csv, grid_latex
from shiftdp.ui.reproduce.page import page

__all__ = ["prepare_folder", "summary", "write_folder"]


def prepare_folder(path: str | Path) -> Path:
    """The folder, made if it is not there; refused before any work if it cannot be written."""
    folder = Path(path)
    try:
        for part in (folder, folder / "tables", folder / "figures"):
            part.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=part).close()
    except OSError as error:
        raise InvalidInput(
            "out", str(path), f"cannot be written: {error.strerror}", "give another folder"
        ) from error
    return folder


def write_folder(made: Reproduction, folder: Path) -> Path:
    """Write everything; returns the page to open."""
    for table in made.tables:
        base = folder / "tables" / table.label
        write_file(base.with_suffix(".csv"), grid_csv(table.grid))
        write_file(base.with_suffix(".tex"), grid_latex(table.grid, table.label, table.title))
        if table.entries:
            write_file(
                folder / "tables" / f"{table.label}-comparison.csv", entries_csv(table.entries)
            )
        for i, grid in enumerate(table.beside, 1):
            name = f"{table.label}-beside" + (f"-{i}" if len(table.beside) > 1 else "")
            write_file(folder / "tables" / f"{name}.csv", grid_csv(grid))
            write_file(folder / "tables" / f"{name}.tex", grid_latex(grid, name, grid.caption))
    for picture in made.pictures:
        base = folder / "figures" / picture.label
        write(picture.figure, base.with_suffix(".png"))
        write(picture.figure, base.with_suffix(".svg"), outlines=True)
        write_file(folder / "figures" / f"{picture.label}.csv", picture.csv())
    write_file(folder / "results.json", json.dumps(summary(made), indent=1, ensure_ascii=False))
    index = folder / "index.html"
    write_file(index, page(made))
    return index


def summary(made: Reproduction) -> dict[str, object]:
    """What agrees, what is corrected and what differs, as JSON."""
    counted: dict[str, int] = {}
    for _, entry in made.entries:
        counted[entry.verdict] = counted.get(entry.verdict, 0) + 1
    return {
        "data": made.data,
        "runs": made.runs,
        "tables": len(made.tables),
        "figures": len(made.pictures),
        "verdicts": counted,
        "entries": [{"where": label, **vars(entry)} for label, entry in made.entries],
    }
