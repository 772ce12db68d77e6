"""Audits of odd trainers, certificates and numbers, and heads of odd tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import shiftdp as sdp
from shiftdp.training import Huber, Logistic, Plan, Softmax
from shiftdp.trials.one_run import chance_of_guesses, epsilon_from_guesses, mu_from_guesses
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number

_ODD = 16
_MET = 1.0 + 1e-9


def _trainer(choices: Choices) -> Any:
    """A function of data, a plan, or anything."""
    rng = np.random.default_rng(choices.below(2**16))
    shape = choices.pick(((), (2,), (2, 2), (0,)))
    scale = choices.pick((1.0, 0.0, 1e-300, 1e300, math.nan, math.inf))

    def function(X: Any, y: Any = None, seed: Any = None) -> Any:
        return (
            rng.normal(size=shape) * scale if choices.below(2) else float(np.size(X)) + rng.normal()
        )

    run = sdp.NoisyGD(n=8, steps=2, learning_rate=0.1, noise=1.0)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0)
    return choices.mostly(choices.pick((function, function, plan)), _ODD)


def try_audit(data: bytes) -> None:
    """A lower bound is a number, not above what is certified unless the verdict says so."""
    choices = Choices(data)
    if choices.chance(3):
        _try_guesses(choices)
        return
    guarantee = choices.mostly(
        choices.pick(
            (None, sdp.ApproxDPTradeoff(1.0, 1e-5), sdp.GaussianTradeoff(0.5), sdp.Identity())
        ),
        _ODD,
    )
    X, y = np.zeros((8, 2)), np.zeros(8, dtype=int)
    table = choices.pick((None, (X, y), (X[:0], y[:0]), (X, y[:3]), (X + math.nan, y)))
    table = choices.mostly(table, _ODD)
    report = sdp.audit(
        _trainer(choices),
        guarantee,
        method=choices.mostly(choices.pick(("runs", "runs", "one_run", "shared_noise")), _ODD),
        data=table,
        neighbour=choices.mostly(choices.pick((None, None, (X + 1.0, y))), _ODD),
        runs=choices.mostly(choices.pick((1, 4, 20)), 40) if choices.below(8) else 8,
        canaries=choices.mostly(choices.pick((None, 1, 4)), _ODD),
        confidence=choices.mostly(choices.pick((0.99, 0.5)), _ODD),
        delta=choices.mostly(1e-5, _ODD),
        features=choices.mostly(choices.pick((None, 2)), _ODD),
        feature_bound=choices.mostly(choices.pick((None, 1.0)), _ODD),
        targets=choices.mostly(choices.pick((None, "labels", "numbers")), _ODD),
    )
    require_number(report.epsilon, "a lower bound on epsilon")
    require_number(report.mu, "a lower bound on mu")
    require(report.verdict in ("violated", "consistent"), "a verdict", report)
    require(bool(str(report)) and isinstance(report.to_dict(), dict), "nothing is shown")


def _try_guesses(choices: Choices) -> None:
    m = choices.mostly(choices.integer(1, 200), 8)
    guesses, hits = (
        choices.mostly(choices.integer(0, 50), 8),
        choices.mostly(choices.integer(0, 50), 8),
    )
    epsilon, delta = choices.mostly(choices.log_uniform(0.01, 20.0), 8), choices.mostly(1e-5, 8)
    chance = chance_of_guesses(m, guesses, hits, epsilon=epsilon, delta=delta)
    require_number(chance, "a probability", 0.0, 1.0)
    found = epsilon_from_guesses(m, guesses, hits, delta=delta, confidence=0.95)
    require_number(found, "a lower bound on epsilon")
    if choices.chance(4):
        require_number(mu_from_guesses(m, guesses, hits, confidence=0.95), "one on mu")


def try_head(data: bytes) -> None:
    """A head of PyTorch on odd tensors; what it costs is within its budget."""
    import torch

    from shiftdp.torch import PrivateHead

    choices = Choices(data)
    n, features = choices.integer(1, 40), choices.integer(1, 3)
    X: Any = torch.randn(n, features, generator=torch.Generator().manual_seed(choices.below(256)))
    match choices.below(12):
        case 0:
            X = X.to(choices.pick((torch.float64, torch.float16, torch.int8, torch.complex64)))
        case 1:
            X[choices.below(n), 0] = choices.pick((math.nan, math.inf, 3e38, 1e-45))
        case 2:
            X = choices.pick((X.to_sparse(), X[:0], X[:, :0], X[0], X[None], X.T, X.numpy()))
        case 3:
            X = choices.hostile()
        case 4:
            X.requires_grad_(True)
        case _:
            pass
    y: Any = torch.arange(n) % 2
    match choices.below(12):
        case 0:
            y = choices.pick(
                (y.float(), y.bool(), y[:, None], y[:-1], y - 1, y + 5, y.to(torch.int8))
            )
        case 1:
            y = y.double()
            y[0] = choices.pick((math.nan, math.inf, 0.5, -1.0))
        case 2:
            y = choices.hostile()
        case _:
            pass
    heads: tuple[dict[str, Any], ...] = (
        {"classes": 2}, {"loss": Logistic()}, {"loss": Softmax(classes=3)}, {"loss": Huber()},
    )  # fmt: skip
    loss = choices.pick(heads)
    words: dict[str, Any] = {name: choices.mostly(value, _ODD) for name, value in loss.items()}
    extra = {
        "epochs": (1, 2), "batch_size": (5, 40), "noise": (1.0,), "l2": (0.1,), "clip": (0.5,),
        "cache": (True, "disk"), "device": ("cpu",), "checkpoints": ("epochs", [1]),
        "algorithm": ("gd", "cgd"),
        "average": (2,), "oversized": ("refuse",), "adjacency": ("zero_out",), "bias": (False,),
        "random_state": (3,), "distributed": (False,),
    }  # fmt: skip
    for _ in range(choices.below(4)):
        name = choices.pick([*extra])
        words[name] = choices.mostly(choices.pick(extra[name]), 6)
    epsilon = choices.mostly(choices.pick((1.0, 10.0)), _ODD)
    head = PrivateHead(
        epsilon,
        choices.mostly(1e-5, _ODD),
        choices.mostly(1.0, _ODD),
        compute=1e5,
        **words,
    )
    layer = head.fit(X, y)
    spent = require_number(head.certificate_.epsilon(head.delta), "epsilon of a head")
    require("noise" in words or spent <= epsilon * _MET, "above its budget", head, spent)
    layers = layer if isinstance(layer, (list, tuple)) else [layer]
    for one in layers:
        require(bool(torch.isfinite(one.weight).all()), "weights that are no numbers", head)
