"""Tables 2, 5 and 6 [tab:lr-acc, lr-train, lr-test]: accuracy of the experiment.

And, not in the paper, the same experiment with a guarantee, in fixed and in random order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from shiftdp.last_iterate import certify
from shiftdp.ui.output import up
from shiftdp.ui.reproduce.experiment import RIGOROUS, Results, Variant
from shiftdp.ui.reproduce.grid import Grid, Table
from shiftdp.ui.reproduce.images import Images
from shiftdp.ui.reproduce.verdict import DELTA, measured, published, spread

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


def rigorous_table(images: Images, found: Mapping[str, Results]) -> Table:
    """Certified epsilon and accuracy, side by side with the published setting."""
    setting = images.setting
    rows = []
    for ridge in setting.ridges:
        geometry = setting.geometry(ridge)
        for E in setting.epochs:
            composed = certify(setting.cyclic(E), geometry, bounds="composition").epsilon(DELTA)
            as_published = found["cgd"][ridge, E]
            cells = [up(composed), spread(as_published.train), spread(as_published.test)]
            for variant in RIGOROUS:
                samples = found[variant.name][ridge, E]
                cells += [_epsilon(images, variant, ridge, E), spread(samples.train)]
                cells.append(spread(samples.test))
            rows.append((str(ridge), str(E), *cells))
    first = found[RIGOROUS[0].name][setting.ridges[0], setting.epochs[0]]
    return Table(
        "lr-rigorous",
        None,
        f"The experiment made rigorous ({images.name}, {len(first.train)} runs): certified ε at "
        "δ = 1e-5, and accuracy (%)",
        Grid(
            ("λ", "Epochs", *(("ε", "training", "test") * (1 + len(RIGOROUS)))),
            tuple(rows),
            (
                ("", 2),
                ("as published: plain clipping", 3),
                *((variant.name, 3) for variant in RIGOROUS),
            ),
        ),
        (),
        (),
        (
            "Plain clipping of softmax gradients is not the gradient of a convex function, so all "
            "that is proved of the published runs is composition. The Lipschitz envelope is convex "
            "and as smooth as the loss: Theorem B1 covers it in fixed order, Theorem B4 in random "
            "order. The published ε is then true, and a random order gives a better one.",
        ),
    )


def _epsilon(images: Images, variant: Variant, ridge: float, epochs: int) -> str:
    if variant.batching == "sampled":
        run = images.setting.sampled(epochs)
        return up(certify(run, images.setting.geometry(ridge), delta=DELTA).epsilon(DELTA))
    cyclic = images.setting.cyclic(epochs, variant.batching)
    return up(certify(cyclic, images.setting.geometry(ridge)).epsilon(DELTA))
