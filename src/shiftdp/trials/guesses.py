"""One training with many canaries: put them in by coins, guess from the model, count the hits.

Canaries take the place of the last m records. Their rows are as long as the bound allows and point
in random directions, orthogonal ones where there are as many features; the coin of a canary decides
its target (`replace_one`), or whether its row is there at all (`zero_out`). A linear model leans
towards the rows of canaries with the first target, so the score of a canary is its product with the
weights, less the place between the two groups that these fall into. Guesses are made of the r
canaries with the largest scores in size. Some r are tried, fixed beforehand, and share the risk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.fdp import TradeoffFunction
from shiftdp.trials.one_run import chance_under, epsilon_from_guesses, mu_from_guesses
from shiftdp.trials.report import Finding
from shiftdp.trials.trainers import Trainer

_SHARES = (1, 4, 16)  # one of so many canaries is guessed of
_ROUNDS = 30  # of two means, which settle sooner
_LEAST_GUESSES = 8  # fewer prove nothing: even 8 right ones of 8 have chance 1/256


def one_run_findings(
    trainer: Trainer,
    data: Any,
    f: TradeoffFunction,
    m: int,
    *,
    delta: float,
    confidence: float,
) -> list[Finding]:
    """What one training shows, for each number of guesses."""
    coins, rows, table = planted(trainer, data, m, np.random.default_rng())
    scores = rows @ trainer.weights(trainer.outputs(table, 1)[0], rows.shape[1])
    scores -= between(scores)
    order = np.argsort(-np.abs(scores), kind="stable")
    numbers = sorted({max(min(m, _LEAST_GUESSES), m // share) for share in _SHARES}, reverse=True)
    trust = 1.0 - (1.0 - confidence) / len(numbers)
    found = []
    for r in numbers:
        guessed = order[:r]
        hits = int(np.count_nonzero((scores[guessed] > 0.0) == coins[guessed]))
        found.append(
            Finding(
                canary=f"{m} canaries",
                epsilon=epsilon_from_guesses(m, r, hits, delta=delta, confidence=trust),
                mu=mu_from_guesses(m, r, hits, confidence=trust),
                contradicts=chance_under(f, m, r, hits) <= 1.0 - trust,
                seen=f"{hits} of {r} guesses right",
            )
        )
    return found


def between(scores: NDArray[np.float64]) -> float:
    """The middle of the means of two groups, each nearer to its own: two means in one dimension.

    >>> between(np.array([-1.0, -1.2, -0.8, 3.0]))
    1.0
    """
    middle = float(np.mean(scores))
    for _ in range(_ROUNDS):
        above = scores > middle
        if above.all() or not above.any():
            break
        middle = float((np.mean(scores[above]) + np.mean(scores[~above])) / 2.0)
    return middle


def planted(
    trainer: Trainer, data: Any, m: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.float64], tuple[Any, Any]]:
    """The coins, the rows of the canaries, and the data with them in it."""
    records = trainer.records
    if m > records.n:
        raise InvalidInput(
            "canaries", m, f"exceeds the {records.n} records", f"give at most {records.n}"
        )
    if data is None:
        wide = records if trainer.features_given else replace(records, features=max(2, m))
        X, y = wide.background()
    else:
        X, y = np.array(data[0], dtype=np.float64), np.array(data[1])
    rows = records.feature_bound * directions(m, X.shape[1], rng)
    coins = rng.random(m) < 0.5
    first, second = records.versions
    X[len(X) - m :], y[len(y) - m :] = rows, np.where(coins, first, second)
    if records.adjacency == "zero_out":
        X[len(X) - m :] *= coins[:, None]
        y[len(y) - m :] = first
    return coins, rows, (X, y)


def directions(m: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """m random unit vectors in d dimensions; orthogonal ones if m <= d."""
    rows = rng.standard_normal((m, d))
    if m <= d:
        rows = np.linalg.qr(rows.T)[0].T
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
