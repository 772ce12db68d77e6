"""Other ways to a private linear model: objective and output perturbation, diffprivlib, no privacy.

Each takes a task, a budget and a strength of regularisation, and gives a model of one data set.
They are for two classes (diffprivlib and no privacy for more): the analysis of objective
perturbation asks for losses of one score. diffprivlib runs in an environment of its own, with the
scikit-learn that it still runs with.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _tasks import DELTA, Data, Task, held
from wall.environments import server

import shiftdp as sdp
from shiftdp.fdp import GaussianTradeoff

STRENGTHS = tuple(10.0 ** (k / 3.0) for k in range(-15, 4))
"""Ridges that are tried in hindsight: m in the mean loss plus (m/2)|w|^2, times R^2."""


def joined(task: Task, X: Any) -> Any:
    """Features within the bound, with a constant."""
    inside = held(np.asarray(X, dtype=np.float64), task.bound)
    return np.concatenate([inside, np.ones((len(X), 1))], axis=1)


def minimised(task: Task, data: Data, ridge: float, linear: Any, clip: float = math.inf) -> Any:
    """argmin of the mean logistic loss + (ridge/2)|w|^2 + <linear, w>/n.

    With a clip, the gradient of each record's loss is held to this norm: the loss of a score goes
    on as a straight line from where its slope is clip/|x|, which leaves it convex.
    """
    from scipy.optimize import minimize

    X, y = joined(task, data.X), np.where(data.y == 1, 1.0, -1.0)
    n = len(X)
    steepest = np.minimum(1.0, clip / np.linalg.norm(X, axis=1))
    with np.errstate(divide="ignore"):
        turn = np.log1p(-steepest) - np.log(steepest)  # -infinity where nothing is clipped

    def loss(w: Any) -> tuple[float, Any]:
        z = y * (X @ w)
        curved = np.maximum(z, turn)
        value = (np.logaddexp(0.0, -curved) + steepest * (curved - z)).mean()
        down = np.minimum(1.0 / (1.0 + np.exp(np.minimum(z, 700.0))), steepest)
        slope = X.T @ (-y * down) / n + ridge * w + linear / n
        return float(value + 0.5 * ridge * w @ w + linear @ w / n), slope

    found = minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", tol=1e-12,
                     options={"maxiter": 1_000})  # fmt: skip
    return found.x


def objective_delta(epsilon: float, L: float, beta: float, total: float, sigma: float) -> float:
    """delta of objective perturbation. [Redberg, Koskela and Wang 2023, arXiv:2401.00583, Thm 3.1]

    The sum of losses of one score, L-Lipschitz and beta-smooth, plus (total/2)|w|^2 and <b, w> with
    b ~ N(0, sigma^2 I), minimised exactly; one record is there or not, total > beta. Where it comes
    from: w determines b, so the privacy loss at w has two parts. That of the Jacobians, which
    differ by one matrix of rank one, is at most |log(1 - beta/total)|. That of the densities of b
    is (2 <g, b> + |g|^2)/(2 sigma^2), up to the sign of g, the record's gradient; g has
    the direction of the record's features whatever w is, and |g| <= L, so that this is at most
    mu |Z| + mu^2/2 with mu = L/sigma and Z = N(0, 1). Hence, with

        inner = epsilon - |log(1 - beta/total)|,  outer = inner - mu^2/2,

    delta <= E (1 - exp(outer - mu |Z|))_+. If outer >= 0 only |Z| > outer/mu counts, which is twice
    what the Gaussian mechanism G(mu) has at inner: its loss is mu Z + mu^2/2. Else nothing is cut
    off, and E exp(-mu |Z|) is 1 minus twice what G(mu) has at mu^2/2.
    """
    mu = L / sigma
    inner = epsilon - abs(math.log1p(-beta / total))
    outer = inner - mu * mu / 2.0
    profile = GaussianTradeoff(mu)
    if outer >= 0.0:
        return 2.0 * profile.delta(inner)
    return -math.expm1(outer) + math.exp(outer) * 2.0 * profile.delta(mu * mu / 2.0)


def objective(task: Task, epsilon: float, strength: float, part: float = 1.0) -> float | None:
    """The least noise b for this ridge and for gradients clipped to a part of R; None if there is
    none. Clipping leaves curvature p (1 - p)|x|^2 only where p |x| <= clip, so that it is at most
    clip (R - clip), if clip < R/2, else R^2/4."""
    R, n = task.norm_bound, task.n
    clip = part * R
    beta = R * R / 4.0 if part >= 0.5 else clip * (R - clip)
    total = strength * R * R * n
    if total <= 1.0001 * beta:
        return None
    low, high = 1e-3 * clip, 1e6 * clip
    if objective_delta(epsilon, clip, beta, total, high) > DELTA:
        return None
    for _ in range(200):
        middle = math.sqrt(low * high)
        enough = objective_delta(epsilon, clip, beta, total, middle) <= DELTA
        low, high = (low, middle) if enough else (middle, high)
    return high


def objective_model(
    task: Task, data: Data, strength: float, sigma: float, part: float, seed: int
) -> Any:
    rng = np.random.default_rng((seed, 1))
    noise = sigma * rng.standard_normal(data.X.shape[1] + 1)
    R = task.norm_bound
    return minimised(task, data, strength * R * R, noise, part * R if part < 1.0 else math.inf)


def output_model(task: Task, data: Data, epsilon: float, strength: float, seed: int) -> Any:
    """The ridge solution, which one record moves by at most R/(n ridge), plus Gaussian noise."""
    rng = np.random.default_rng((seed, 2))
    ridge = strength * task.norm_bound**2
    mu = sdp.GaussianTradeoff.from_budget(epsilon, DELTA).mu
    w = minimised(task, data, ridge, np.zeros(data.X.shape[1] + 1))
    sigma = task.norm_bound / (task.n * ridge * mu)
    return w + sigma * rng.standard_normal(len(w))


class Diffprivlib:
    """diffprivlib's objective perturbation for pure privacy, in its own environment.

    It has no delta, and neighbouring data sets differ in the value of one record [Chaudhuri,
    Monteleoni and Sarwate 2011, JMLR 12]: that is more than (epsilon, delta) with one left out.
    """

    def __init__(self, task: Task, path: Path) -> None:
        self.task, self.path = task, path
        splits: dict[str, Any] = {}
        for seed, data in enumerate(task.draws):
            splits |= {f"X_{seed}": joined(task, data.X), f"y_{seed}": data.y}
            splits |= {f"test_{seed}": joined(task, data.test), f"labels_{seed}": data.labels}
        np.savez(self.path, **splits)

    def accuracy(self, epsilon: float, strength: float, seed: int) -> float:
        given = {
            "path": str(self.path),
            "epsilon": epsilon,
            "strengths": [strength],
            "norm_bound": self.task.norm_bound,
            "seeds": [seed % len(self.task.draws)],
        }
        ((found,),) = server("diffprivlib").ask("accuracies", given, warm=False)[1]
        return float(found)


def without_privacy(task: Task, data: Data) -> float:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=100.0, max_iter=500)
        model.fit(held(data.X, task.bound), data.y)
        return 100.0 * float(model.score(held(data.test, task.bound), data.labels))
