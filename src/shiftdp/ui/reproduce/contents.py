"""Which tables and figures there are, and the order in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
_OWN_BATCHES = 1.7  # times as long, where each model draws batches of its own


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything that was made; `missing` says what is still to come."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    data: str
    runs: int
    missing: str = ""

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


def reproduce(
    images: Images | None,
    runs: int,
    seed: int,
    shown: Bar,
    keep: Callable[[Reproduction, Sequence[Table | Picture]], None] = lambda made, new: None,
) -> Reproduction:
    """The tables and figures, in the order of the paper; without data, those that need none.

    Args:
        images: to train on.
        runs: for each setting.
        seed: of noise and batches.
        shown: told how far it is.
        keep: given all that there is, and what is new of it, whenever something is.
    """
    name = "nothing" if images is None else images.name
    tables: list[Table] = []
    pictures: list[Picture] = []

    def made(missing: str) -> Reproduction:
        ordered = sorted(tables, key=lambda table: (table.number is None, table.number or 0))
        return Reproduction(tuple(ordered), tuple(pictures), name, runs, missing)

    shown.stage("privacy tables")
    for make in _PRIVACY:
        tables.append(make())
        shown.advance(_TABLE)
    tables += cgd_constrained_tables()
    shown.advance(_TABLE)
    trained = "" if images is None else " and what is trained"
    keep(made(f"the figures{trained}"), tables)
    shown.stage("figures")
    for draw in FIGURES:
        with loaded():
            pictures.append(draw())
        shown.advance(_FIGURE)
        keep(made(f"some figures{trained}"), pictures[-1:])
    if images is not None:
        for new in accuracy_tables(images, runs, seed, shown):
            tables += new
            keep(made("some of what is trained"), new)
    return made("")


def accuracy_tables(images: Images, runs: int, seed: int, shown: Bar) -> Iterator[list[Table]]:
    """Tables 2, 5 and 6 as soon as they can be made, then the experiment made rigorous."""
    found: dict[str, Results] = {}
    for variant in (*PUBLISHED, *RIGOROUS):
        number = _runs(variant.clipping, runs)
        cost = _cost(variant.batching, variant.clipping)
        clipping = "plain clipping" if variant.clipping == "uncertified" else "envelope"
        shown.stage(f"training on {images.name}: {variant.batching} batches, {clipping}")

        def tick(steps: int, cost: float = cost) -> None:
            shown.advance(cost * steps)

        found[variant.name] = experiment(images, variant, number, seed, tick)
        if variant == PUBLISHED[-1]:
            yield published_tables(images, found)
    yield [rigorous_table(images, found)]


def published_tables(images: Images, found: Mapping[str, Results]) -> list[Table]:
    """Tables 2, 5 and 6, from the runs of the paper."""
    return [
        accuracy_table(images, found),
        detailed_accuracy_table(images, found, "train"),
        detailed_accuracy_table(images, found, "test"),
    ]


def _runs(clipping: str, runs: int) -> int:
    """Fewer runs for what is not in the paper: its deviation is known from the others."""
    return runs if clipping == "uncertified" else min(runs, 3)


def _model_steps(images: Images, runs: int) -> int:
    setting = images.setting
    return max(setting.epochs) * setting.batches * len(setting.ridges) * runs


def _cost(batching: str, clipping: str) -> float:
    return _MODEL_STEP[clipping] * (1.0 if batching == "fixed" else _OWN_BATCHES)
