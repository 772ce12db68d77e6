"""`shiftdp train --private-score`: records are held out, and the model is measured on them.

Which records are held out is drawn at random, by nobody's values. A record is trained on or scored.
Whoever is trained on pays for the model: the score is made of it, of other people's records and of
fresh noise. Whoever is held out pays for the score: the model would be the same without them. So
each person pays for one of the two, and the larger epsilon covers everybody.
"""

from __future__ import annotations

import math
import secrets
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.ui.output import up
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused

if TYPE_CHECKING:
    from shiftdp.training.selection.report import ScoreReport

SHARE = 0.2
"""Of the records that are held out unless --holdout says otherwise."""


@dataclass(frozen=True)
class HeldOut:
    """A report on records that were held out, and what it means for a person."""

    report: ScoreReport
    model_epsilon: float
    charged: bool

    @property
    def epsilon(self) -> float:
        """What any one person pays, at most."""
        return max(self.model_epsilon, self.report.certificate.epsilon(self.report.delta))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        certificate = self.report.certificate
        score = {**self.report.to_dict(), "private": certificate.private}
        return {"score": score, "epsilon_of_a_person": self.epsilon}

    def text(self) -> str:
        """In words."""
        score = up(self.report.certificate.epsilon(self.report.delta))
        lines = [
            "",
            str(self.report),
            f"Whoever is trained on pays for the model, epsilon {up(self.model_epsilon)}; whoever "
            f"is held out for the score, {score}; nobody for both.",
        ]
        if self.charged:
            lines.append("The ledger adds both up, which is more than any one person pays.")
        return "\n".join(lines)


class Holdout:
    """The records that --private-score is measured on."""

    def __init__(self, ctx: click.Context, options: dict[str, Any]) -> None:
        self.options = options
        self.wanted = options["private_score"] is not None
        self.held: tuple[Any, Any] | None = None
        if not self.wanted:
            if options["holdout"] is not None:
                raise Refused("--holdout: is for --private-score; give both or none", ctx)
            return
        if options["dry_run"]:
            raise Refused("--private-score: nothing is trained by --dry-run; leave one out", ctx)
        if not 0.0 < options["private_score"] < math.inf:
            raise Refused(
                f"--private-score {options['private_score']:g}: is no epsilon; give one above 0",
                ctx,
            )
        if not 0.0 < self.share < 1.0:
            raise Refused(f"--holdout {self.share:g}: is no part; give one between 0 and 1", ctx)
        if options["model"] == "huber" and options["score_range"] is None:
            raise Refused(
                "--private-score: that of huber needs a public range of the target; give "
                "--score-range",
                ctx,
            )

    @property
    def share(self) -> float:
        """The part of the records that is held out."""
        given = self.options["holdout"]
        return SHARE if given is None else float(given)

    def kept(self, n: int) -> int:
        """How many of n records are trained on."""
        return n - round(self.share * n) if self.wanted else n

    def split(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The records to train on; the others are kept for the score."""
        if not self.wanted:
            return X, y
        n = X.shape[0]
        number = n - self.kept(n)
        if not 0 < number < n:
            raise InvalidInput(
                "holdout", self.share, f"leaves a part of {n} records empty", "give another"
            )
        seed = self.options["random_state"]
        order = np.random.default_rng(secrets.randbits(128) if seed is None else int(seed))
        places = order.permutation(n)
        held, kept = np.sort(places[:number]), np.sort(places[number:])
        y = np.asarray(y)
        self.held = X[held], y[held]
        return X[kept], y[kept]

    def score(self, model: Any) -> HeldOut | None:
        """The report on what was held out, charged to the ledger as a release of its own."""
        if self.held is None:
            return None
        options = self.options
        with waiting("measuring"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names, which the arrays have not
            report = model.private_score(
                *self.held,
                epsilon=options["private_score"],
                delta=options["delta"],
                targets=options["score_range"],
                ledger=options["ledger"],
                random_state=options["random_state"],
            )
        epsilon = model.certificate_.epsilon(options["delta"])
        return HeldOut(report, epsilon, options["ledger"] is not None)
