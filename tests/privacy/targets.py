"""Budgets to calibrate for."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from shiftdp.last_iterate.runs import Order

A_LITTLE = 1e-6
ORDERS: list[Order] = ["fixed", "shuffled_once", "reshuffled"]
KINDS: list[dict[str, Any]] = [
    {"epsilon": 1.5, "delta": 1e-5},
    {"mu": 0.6},
    {"renyi": 0.4, "order": 5.0},
    {"advantage": 0.2},
    {"tpr": 0.06, "fpr": 0.01},
]


@st.composite
def budgets(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["epsilon", "mu", "renyi", "advantage", "tpr"]))
    if kind == "epsilon":
        delta = 10.0 ** draw(st.sampled_from([-300.0, -12.0, -6.0, -5.0, -1.0]))
        return {"epsilon": 10.0 ** draw(st.floats(-2.0, 3.0)), "delta": delta}
    if kind == "mu":
        return {"mu": 10.0 ** draw(st.floats(-3.0, 2.0))}
    if kind == "renyi":
        return {"renyi": 10.0 ** draw(st.floats(-3.0, 2.0)), "order": draw(st.floats(1.1, 64.0))}
    if kind == "advantage":
        return {"advantage": draw(st.floats(0.001, 0.95))}
    fpr = draw(st.floats(0.001, 0.5))
    return {"tpr": fpr + draw(st.floats(0.01, 0.9)) * (1.0 - fpr), "fpr": fpr}
