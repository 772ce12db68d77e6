"""Which tables and figures there are, and the order in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shiftdp.ui.plots.style import loaded
from shiftdp.ui.progress import Bar
from shiftdp.ui.reproduce.experiment import PUBLISHED, RIGOROUS, Results, experiment
from shiftdp.ui.reproduce.figures.descent_pairs import (
    cgd_constrained_figure,
    cgd_strongly_convex_figure,
    gd_constrained_figure,
    gd_strongly_convex_figure,
)
from shiftdp.ui.reproduce.figures.illustrations import (
    introduction_figure,
    one_step_figure,
    tradeoffs_figure,
)
from shiftdp.ui.reproduce.figures.picture import Picture
from shiftdp.ui.reproduce.figures.processes import sampled_processes_figure, shifted_process_figure
from shiftdp.ui.reproduce.figures.sgd_pairs import (
    sgd_constrained_figure,
    sgd_panels_figure,
    sgd_strongly_convex_figure,
)
from shiftdp.ui.reproduce.grid import Table
from shiftdp.ui.reproduce.images import Images
from shiftdp.ui.reproduce.tables.cgd_constrained import cgd_constrained_tables
from shiftdp.ui.reproduce.tables.descent import (
    cgd_strongly_convex_table,
    gd_constrained_table,
    gd_strongly_convex_table,
)
from shiftdp.ui.reproduce.tables.mnist_accuracy import (
    accuracy_table,
    detailed_accuracy_table,
    rigorous_table,
)
from shiftdp.ui.reproduce.tables.mnist_privacy import (
    epsilon_detailed_table,
    epsilon_table,
    mu_table,
)
from shiftdp.ui.reproduce.verdict import Entry

_PRIVACY: tuple[Callable[[], Table], ...] = (
    epsilon_table,
    mu_table,
    epsilon_detailed_table,
    gd_strongly_convex_table,
    gd_constrained_table,
    cgd_strongly_convex_table,
)
FIGURES: tuple[Callable[[], Picture], ...] = (
    introduction_figure,
    tradeoffs_figure,
    shifted_process_figure,
    one_step_figure,
    sampled_processes_figure,
    gd_strongly_convex_figure,
    gd_constrained_figure,
    cgd_strongly_convex_figure,
    cgd_constrained_figure,
    sgd_panels_figure,
    sgd_strongly_convex_figure,
    sgd_constrained_figure,
)

# Seconds that each takes on two cores: how much of the work is done is measured by them.
_TABLE, _FIGURE = 1.0, 1.5
_MODEL_STEP = {"uncertified": 6e-4, "envelope": 2e-3, "none": 6e-4}
_OWN_BATCHES = 1.7


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything that was made."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    data: str
    runs: int

    @property
    def entries(self) -> tuple[tuple[str, Entry], ...]:
        """All comparisons, with the name of the table or figure."""
        parts: list[Table | Picture] = [*self.tables, *self.pictures]
        return tuple((part.label, entry) for part in parts for entry in part.entries)

    @property
    def failures(self) -> tuple[tuple[str, Entry], ...]:
        return tuple(found for found in self.entries if found[1].verdict == "differs")


def all_tables() -> list[Table]:
    """The tables that need no data."""
    return [*(make() for make in _PRIVACY), *cgd_constrained_tables()]


def work(images: Images | None, runs: int) -> float:
    """How much there is to do, in seconds, roughly."""
    total = (len(_PRIVACY) + 1) * _TABLE + len(FIGURES) * _FIGURE
    if images is not None:
        for variant in (*PUBLISHED, *RIGOROUS):
            total += _cost(variant.batching, variant.clipping) * _model_steps(
                images, _runs(variant.clipping, runs)
            )
    return total


def reproduce(images: Images | None, runs: int, seed: int, shown: Bar) -> Reproduction:
    """The tables and figures, in the order of the paper; without data, those that need none."""
    shown.stage("privacy tables")
    tables: list[Table] = []
    for make in _PRIVACY:
        tables.append(make())
        shown.advance(_TABLE)
    tables += cgd_constrained_tables()
    shown.advance(_TABLE)
    pictures = []
    shown.stage("figures")
    for draw in FIGURES:
        with loaded():
            pictures.append(draw())
        shown.advance(_FIGURE)
    if images is not None:
        tables += accuracy_tables(images, runs, seed, shown)
    tables.sort(key=lambda table: (table.number is None, table.number or 0))
    name = "nothing" if images is None else images.name
    return Reproduction(tuple(tables), tuple(pictures), name, runs)


def accuracy_tables(images: Images, runs: int, seed: int, shown: Bar) -> list[Table]:
    """Tables 2, 5 and 6, and the experiment made rigorous."""
    found: dict[str, Results] = {}
    for variant in (*PUBLISHED, *RIGOROUS):
        number = _runs(variant.clipping, runs)
        cost = _cost(variant.batching, variant.clipping)
        clipping = "plain clipping" if variant.clipping == "uncertified" else "envelope"
        shown.stage(f"training on {images.name}: {variant.batching} batches, {clipping}")

        def tick(steps: int, cost: float = cost) -> None:
            shown.advance(cost * steps)

        found[variant.name] = experiment(images, variant, number, seed, tick)
    return tables_of(images, found)


def tables_of(images: Images, found: Mapping[str, Results]) -> list[Table]:
    return [
        accuracy_table(images, found),
        detailed_accuracy_table(images, found, "train"),
        detailed_accuracy_table(images, found, "test"),
        rigorous_table(images, found),
    ]


def _runs(clipping: str, runs: int) -> int:
    """Fewer runs for what is not in the paper: its deviation is known from the others."""
    return runs if clipping == "uncertified" else min(runs, 3)


def _model_steps(images: Images, runs: int) -> int:
    setting = images.setting
    return max(setting.epochs) * setting.batches * len(setting.ridges) * runs


def _cost(batching: str, clipping: str) -> float:
    return _MODEL_STEP[clipping] * (1.0 if batching == "fixed" else _OWN_BATCHES)
