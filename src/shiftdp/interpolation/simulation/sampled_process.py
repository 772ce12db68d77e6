"""The interpolated processes of NoisySGD, simulated: the two of Thm sgd-sc, the one of sgd-proj.

A step is `psi_k(x)` if the record stays out and `phi_k(x)` (or `phi'_k(x)`) if it takes part, which
is decided by V_k ~ Ber(p). Interpolations use the noise and the V of the process they follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._checks import Array, array_in, count, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp.interpolation.simulation.process import Map, Projection


@dataclass(frozen=True, eq=False)
class Sampled:
    """One process X and an interpolation X~ that follows it, time along the first axis.

    Args:
        tau: where X~ starts.
        original: X_0 .. X_t.
        interpolated: X~_tau .. (to t, or to t - 1 where the last step is not interpolated).
        untaken: where X_k would be with the other V_{k-1}, k = 1 .. t.
        untaken_interpolated: likewise for X~.
        part: V_0 .. V_{t-1}.
        z: the bounds on |X_k - X~_k|.
    """

    tau: int
    original: Array
    interpolated: Array
    untaken: Array
    untaken_interpolated: Array
    part: NDArray[np.bool_]
    z: Array

    @property
    def distances(self) -> Array:
        """|X_k - X~_k|."""
        times = slice(self.tau, self.tau + len(self.interpolated))
        return np.asarray(np.linalg.norm(self.original[times] - self.interpolated, axis=-1))


@dataclass(frozen=True, eq=False)
class SampledPair:
    """The processes on both data sets, each with its interpolation (or, for X', without)."""

    original: Sampled
    adjacent: Sampled


def simulate_sampled_pair(
    psi: Map,
    phi: Map,
    other: Map,
    start: ArrayLike,
    a: ArrayLike,
    *,
    contraction: float,
    sensitivity: float,
    noise: float,
    p: float,
    steps: int,
    rng: np.random.Generator,
) -> SampledPair:
    """Two interpolations, each tracking its own process. [BSA24, proof of Thm sgd-sc-gen]

    X~_k = psi(X~_{k-1}) + lam_k V_{k-1} (phi(X_{k-1}) - psi(X~_{k-1})) + Z_k with
    lam_k = a_k/(z_k + a_k), z_k = c z_{k-1} + s - a_k, for k = 1 .. t - 1; likewise X~'.

    Args:
        a: a_1 .. a_{t-1}, each at most s.
    """
    t = count("steps", steps, 2)
    c, s = finite("contraction", contraction, 0.0), finite("sensitivity", sensitivity, 0.0)
    sd, p = finite("noise", noise, 0.0), number_in("p", p, 0.0, 1.0)
    shifts = array_in("a", a, 0.0, s)
    if shifts.shape != (t - 1,):
        raise InvalidInput("a", shifts.shape, f"is not a_1 to a_{t - 1}", "give those")
    z = np.zeros(t)
    for k in range(1, t):
        z[k] = c * z[k - 1] + s - shifts[k - 1]
    whole = z[1:] + shifts
    lam = np.divide(shifts, whole, out=np.zeros(t - 1), where=whole > 0)

    def follow(own: Map) -> Sampled:
        x = np.array(start, dtype=np.float64, ndmin=1)
        X, W, untaken, untaken_W = [x], [x], [], []
        part = rng.random(t) < p
        for k in range(1, t + 1):
            Z = sd * rng.standard_normal(x.shape)
            ways = psi(k, X[-1]), own(k, X[-1])
            taken = bool(part[k - 1])
            if k < t:
                base = psi(k, W[-1])
                moved = base + lam[k - 1] * (ways[1] - base)
                W.append((moved if taken else base) + Z)
                untaken_W.append((base if taken else moved) + Z)
            X.append(ways[taken] + Z)
            untaken.append(ways[not taken] + Z)
        return Sampled(0, np.stack(X), np.stack(W), np.stack(untaken), np.stack(untaken_W), part, z)

    return SampledPair(follow(phi), follow(other))


def simulate_sampled_proj(
    psi: Map,
    phi: Map,
    other: Map,
    start: ArrayLike,
    *,
    diameter: float,
    noise: float,
    p: float,
    steps: int,
    tau: int,
    project: Projection,
    rng: np.random.Generator,
) -> SampledPair:
    """One interpolation, from X'_tau to X_t. [BSA24, proof of Thm sgd-proj]

    X~_{k+1} = Proj(psi(X~_k) + lam (psi(X_k) - psi(X~_k)) + V_k (phi - psi)(X_k) + Z_{k+1}) with
    lam = 1/(t - k); |X_k - X~_k| <= z_k = D (t - k)/(t - tau).
    """
    t = count("steps", steps, 1)
    tau = int(number_in("tau", count("tau", tau), 0, t - 1))
    D, sd = finite("diameter", diameter, 0.0), finite("noise", noise, 0.0)
    p = number_in("p", p, 0.0, 1.0)
    x = np.array(start, dtype=np.float64, ndmin=1)
    X, Y, untaken, untaken_Y = [x], [x], [], []
    W: list[Array] = [x] if tau == 0 else []
    untaken_W: list[Array] = []
    part, part_other = rng.random(t) < p, rng.random(t) < p
    for k in range(t):
        Z, Z_other = sd * rng.standard_normal(x.shape), sd * rng.standard_normal(x.shape)
        ways = psi(k + 1, X[-1]), phi(k + 1, X[-1])
        ways_other = psi(k + 1, Y[-1]), other(k + 1, Y[-1])
        taken, taken_other = bool(part[k]), bool(part_other[k])
        if k >= tau:
            base = psi(k + 1, W[-1])
            # at the last step this is psi(X_k), without rounding
            moved = ways[0] if k == t - 1 else base + (ways[0] - base) / (t - k)
            both = moved, (ways[1] if k == t - 1 else moved + (ways[1] - ways[0]))
            W.append(project(both[taken] + Z))
            untaken_W.append(project(both[not taken] + Z))
        X.append(project(ways[taken] + Z))
        Y.append(project(ways_other[taken_other] + Z_other))
        untaken.append(project(ways[not taken] + Z))
        untaken_Y.append(project(ways_other[not taken_other] + Z_other))
        if k + 1 == tau:
            W.append(Y[-1])
    z = D * np.arange(t - tau, -1, -1) / (t - tau)
    nothing = np.empty((0, *x.shape))
    return SampledPair(
        Sampled(tau, np.stack(X), np.stack(W), np.stack(untaken), np.stack(untaken_W), part, z),
        Sampled(0, np.stack(Y), nothing, np.stack(untaken_Y), nothing, part_other, np.empty(0)),
    )
