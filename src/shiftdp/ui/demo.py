"""The demonstration: private models of handwritten digits, and what every accountant charges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shiftdp.fdp import zcdp_epsilon
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisySGD, certify
from shiftdp.last_iterate.runs import Order
from shiftdp.privacy.comparison import compare, prior_rho
from shiftdp.training.plan import Plan

if TYPE_CHECKING:
    from shiftdp.training.planning.planner import Planned

BOUND = 3.5
"""Of the features: 8 x 8 pixels from 0 to 1, of which many are dark."""

_HELD_OUT = 357  # of the 1,797 digits, for the test: 1,440 are left to train on
_BATCHES = 10  # an epoch, of 144 records each


class Fitted(NamedTuple):
    """A model, how often it is right on records that it has not seen, and how it was made."""

    accuracy: float
    planned: Planned

    @property
    def plan(self) -> Plan:
        return self.planned.plan

    @property
    def certificate(self) -> Certificate:
        return self.planned.plan.certificate


class Demonstration(NamedTuple):
    """Two private models, one that is not, and the accountants' rows for the second."""

    best: Fitted
    loader: Fitted
    open_accuracy: float
    rows: list[dict[str, Any]]


def demonstrate(epsilon: float, delta: float, epochs: int = 100) -> Demonstration:
    """The planner's model; one of an ordinary shuffled loader; and one without privacy."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    from shiftdp.sklearn import PrivateLogisticRegression

    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[_HELD_OUT:], order[:_HELD_OUT]

    def fitted(**choices: Any) -> Fitted:
        model = PrivateLogisticRegression(
            epsilon, delta, BOUND, classes=list(range(10)), adjacency="zero_out", **choices
        ).fit(X[train], y[train])
        return Fitted(float(model.score(X[test], y[test])), model.plan_)

    loader = fitted(
        algorithm="cgd",
        order="shuffled_once",
        batch_size=len(train) // _BATCHES,
        epochs=epochs,
        l2=0.02,
    )
    public = LogisticRegression(max_iter=1000).fit(X[train], y[train])
    return Demonstration(
        fitted(), loader, float(public.score(X[test], y[test])), _rows(loader.plan, delta)
    )


def _rows(plan: Plan, delta: float) -> list[dict[str, Any]]:
    """The comparison, with the order fixed too, and what a Poisson accountant would say."""
    run, geometry = plan.run, plan.geometry
    rows = [dict(vars(row)) for row in compare(run, geometry, delta=delta)]
    charged = certify(_as_poisson(run), geometry, bounds="composition").epsilon(delta)
    poisson = {
        "name": "Poisson",
        "bound": "does not cover this run: its batches are no Poisson batches",
        "epsilon": charged,
        "mu": None,
        "kind": "estimate",
        "note": "",
    }
    return [rows[0], poisson, *rows[1:]]


def _as_poisson(run: Any) -> NoisySGD:
    return NoisySGD(
        n=run.n,
        batch_size=run.batch_size,
        steps=run.steps,
        learning_rate=run.learning_rate,
        noise=run.noise,
        sampling="poisson",
    )


def figure(plan: Plan, delta: float, folder: Path) -> list[Path]:
    """Epsilon against epochs for the loader's run, a line an accountant, as PNG and SVG."""
    from shiftdp.ui.plots.style import LINES, loaded, new_figure, power, tidy, write

    epochs = [1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200]
    lines = _curves(plan, delta, epochs)
    with loaded():
        drawn, (axes,) = new_figure()
        for style, (label, values) in lines.items():
            axes.plot(epochs, values, label=label, **LINES[style].look)
        axes.set(
            xlabel="epochs",
            ylabel=rf"$\varepsilon$ at $\delta = {power(delta)}$",
            xlim=(0, epochs[-1]),
        )
        axes.set_ylim(bottom=0.0)
        tidy(axes, "the same shuffled run, charged four ways")
        drawn.legend(loc="outside lower center", ncols=2)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "demo.png", folder / "demo.svg"]
    for file in files:
        write(drawn, file, outlines=True)
    return files


def _curves(plan: Plan, delta: float, epochs: list[int]) -> dict[str, tuple[str, list[float]]]:
    def run(e: int, order: Order) -> NoisyCGD:
        given = vars(plan.run)
        shared = {name: given[name] for name in ("n", "batch_size", "learning_rate", "noise")}
        return NoisyCGD(**shared, epochs=e, order=order)

    L = plan.geometry
    every = [run(e, "fixed") for e in epochs]
    return {
        "composition": (
            "composition: every iterate",
            [certify(one, L, bounds="composition").epsilon(delta) for one in every],
        ),
        "prior Renyi": (
            "prior Rényi bound",
            [zcdp_epsilon(prior_rho(one, L), delta=delta).epsilon for one in every],
        ),
        "paper": (
            "Poisson accountant (not covered)",
            [certify(_as_poisson(one), L, bounds="composition").epsilon(delta) for one in every],
        ),
        "best": (
            "this certificate, shuffled once",
            [certify(run(e, "shuffled_once"), L).epsilon(delta) for e in epochs],
        ),
    }
