"""Tables 2, 5 and 6 [tab:lr-acc, lr-train, lr-test]: accuracy of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from shiftdp.ui.reproduce.experiment import Results
from shiftdp.ui.reproduce.grid import Grid, Table
from shiftdp.ui.reproduce.images import Images
from shiftdp.ui.reproduce.published import published
from shiftdp.ui.reproduce.verdict import measured, spread

__all__ = ["accuracy_table", "detailed_accuracy_table"]

_ALGORITHMS = {"cgd": "NoisyCGD", "sgd": "NoisySGD"}
_NUMBERS = {"train": 5, "test": 6}
_TITLES = {"train": "Training", "test": "Test"}
Side = Literal["train", "test"]


def accuracy_table(images: Images, found: Mapping[str, Results]) -> Table:
    """Table 2: NoisyCGD at lambda = 0.002."""
    ridge = images.setting.ridges[0]
    rows, entries = [], []
    for i, E in enumerate(images.setting.epochs):
        samples = found["cgd"][ridge, E]
        rows.append((str(E), spread(samples.train), spread(samples.test)))
        for side, values in (("train", samples.train), ("test", samples.test)):
            figure = published(f"mnist_{side}_accuracy")[f"cgd_{ridge}"][i]
            quantity = f"{_TITLES[side].lower()} accuracy, %"
            entries.append(
                measured(f"{E} epochs", quantity, figure, values, comparable=images.published)
            )
    runs = len(found["cgd"][ridge, images.setting.epochs[0]].train)
    return Table(
        "lr-acc",
        2,
        f"Accuracy (%) of NoisyCGD on {images.name}, λ = {ridge}, mean ± deviation of {runs} runs",
        Grid(("Epochs", "Training", "Test"), tuple(rows)),
        (),
        tuple(entries),
        _notes(images),
    )


def detailed_accuracy_table(images: Images, found: Mapping[str, Results], side: Side) -> Table:
    """Table 5 (training) or 6 (test): both algorithms, both regularisers."""
    figures = published(f"mnist_{side}_accuracy")
    ridges = images.setting.ridges
    rows, entries = [], []
    for i, E in enumerate(images.setting.epochs):
        cells = []
        for key, algorithm in _ALGORITHMS.items():
            for ridge in ridges:
                samples = getattr(found[key][ridge, E], side)
                cells.append(spread(samples))
                entries.append(
                    measured(
                        f"{E} epochs",
                        f"{_TITLES[side].lower()} accuracy, %, {algorithm}, λ = {ridge}",
                        figures[f"{key}_{ridge}"][i],
                        samples,
                        comparable=images.published,
                    )
                )
        rows.append((str(E), *cells))
    return Table(
        f"lr-{side}",
        _NUMBERS[side],
        f"{_TITLES[side]} accuracy (%) of NoisyCGD and NoisySGD on {images.name}",
        Grid(
            ("Epochs", *(f"λ = {ridge}" for _ in _ALGORITHMS for ridge in ridges)),
            tuple(rows),
            (("", 1), *((name, len(ridges)) for name in _ALGORITHMS.values())),
        ),
        (),
        tuple(entries),
        _notes(images),
    )


def _notes(images: Images) -> tuple[str, ...]:
    if images.published:
        return (
            "An entry agrees if the published mean lies within three standard errors of ours, plus "
            "0.05 points. Plain clipping, as published: no theorem covers these runs.",
        )
    return (
        f"These are other data ({images.name}): nothing here can be compared with the paper. Give "
        "--data for MNIST.",
    )
