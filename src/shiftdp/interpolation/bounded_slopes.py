"""The best weights with bounded ratios: an isotonic regression whose steps may not be too steep.

Maximise `sum w_k n_k / sqrt(sum w_k^2 d_k)` over weights with `f_k w_k <= w_{k-1} <= c_k w_k`.
These weights form a convex cone, so the maximum is the norm of the projection of `n / d` on it (in
the norm with weights d): a convex problem, though the slopes `w_{k-1} / w_k` enter as products.
With f = 0 the cone is that of the isotonic regression of Theorem B1.
"""

from __future__ import annotations

# One kink of a piecewise linear function: its place and the change of slope there, in the frame of
# the side that it is kept on.
_Kinks = list[tuple[float, float]]
_NEGLIGIBLE = 1e-18  # changes of slope below this part of it change no digit
_FAR = 1e90  # places beyond are never met; scales in between have squares that are floats


class _Side:
    """Kinks on one side of the minimiser, the nearest one last.

    All of them are dilated together at every step, so that is done to one number, `scale`.
    """

    __slots__ = ("kinks", "scale")

    def __init__(self) -> None:
        self.kinks: _Kinks = []
        self.scale = 1.0

    def dilate(self, slope: float) -> None:
        """D(x) becomes slope * D(slope * x)."""
        if not self.kinks:
            self.scale = 1.0
            return
        self.scale *= slope
        if not 1.0 / _FAR < self.scale < _FAR:
            r = self.scale
            moved = [(place / r, change * r * r) for place, change in self.kinks if r > 0.0]
            # A kink that far out is never met again, one that weak changes nothing.
            self.kinks = [
                (place, change)
                for place, change in moved
                if place < _FAR and abs(change) > _NEGLIGIBLE / _FAR
            ]
            self.scale = 1.0

    def push(self, place: float, change: float) -> None:
        if change != 0.0:
            self.kinks.append((place * self.scale, change / (self.scale * self.scale)))

    def nearest(self) -> tuple[float, float]:
        place, change = self.kinks[-1]
        return place / self.scale, change * self.scale * self.scale


def unconstrained_ends(
    floor: list[float], ceiling: list[float], gain: list[float], cost: list[float]
) -> list[float]:
    """For each k the last weight x_k of the best fit to the steps 1..k alone.

    With `V_k(x)` the least `sum_{j<=k} d_j (w_j - n_j/d_j)^2` among weights that end in x,
    `V_{k+1}(x) = d (x - n/d)^2 + min V_k over [f x, c x]`. V_k is convex and its derivative
    piecewise linear: left of the minimiser x_k it is dilated by c, right of it by f, and a flat
    piece from x_k / c to x_k / f comes between. Keeping the kinks of the two sides in two stacks,
    a step costs the number of kinks that the minimiser passes.

    Args:
        floor: f_k in [0, 1], the least allowed slope at step k (the first entry is not used).
        ceiling: c_k >= f_k, the largest one.
        gain: n_k >= 0.
        cost: d_k > 0.

    >>> unconstrained_ends([0.0] * 4, [1.0] * 4, gain=[2.0, 0.0, 1.0, 0.0], cost=[1.0] * 4)
    [2.0, 1.0, 1.0, 0.75]
    """
    x, steep_left, steep_right = gain[0] / cost[0], cost[0], cost[0]
    ends = [float(x)]
    left, right = _Side(), _Side()
    for f, c, n, d in zip(floor[1:], ceiling[1:], gain[1:], cost[1:], strict=True):
        y = n / d
        if c == 0.0:
            left, right = _Side(), _Side()
            x, steep_left, steep_right = y, d, d
            ends.append(x)
            continue
        low = x / c
        if x > 0.0:
            left.dilate(c)
            steep_left *= c * c
        else:  # nothing lies left of 0
            left = _Side()
            steep_left = 0.0
        if f > 0.0:
            right.dilate(f)
            steep_right *= f * f
            high = x / f
        else:
            right = _Side()
            steep_right, high = 0.0, _FAR
        if y <= low:
            right.push(high, steep_right)
            right.push(low, -steep_left)
            x, slope = _leftwards(left, right, low, d * (low - y), steep_left + d)
        elif y >= high and f > 0.0:
            left.push(low, -steep_left)
            left.push(high, steep_right)
            x, slope = _rightwards(left, right, high, d * (high - y), steep_right + d)
        else:
            left.push(low, -steep_left)
            right.push(high, steep_right)
            x, slope = y, d
        steep_left = steep_right = slope
        ends.append(x)
    return ends


def walk_back(ends: list[float], floor: list[float], ceiling: list[float]) -> list[float]:
    """The slopes of the projection, from the ends.

    `w_t = x_t`, then `w_{k-1} = x_{k-1}` brought into `[f_k w_k, c_k w_k]`. Slopes on which nothing
    depends (the first one, and those before a weight 0) are set to their ceilings.

    >>> walk_back([2.0, 1.0, 4.0], [0.0, 0.0, 0.5], [1.0, 1.0, 1.0])
    [1.0, 1.0, 0.5]
    """
    slopes = list(ceiling)
    w = ends[-1]
    for k in range(len(ends) - 1, 0, -1):
        if w == 0.0:
            break
        slopes[k] = min(ceiling[k], max(floor[k], ends[k - 1] / w))
        w *= slopes[k]
    return slopes


def _leftwards(
    left: _Side, right: _Side, place: float, value: float, slope: float
) -> tuple[float, float]:
    """The zero left of `place`, where the increasing function has `value` >= 0, and its slope."""
    while left.kinks:
        kink, change = left.nearest()
        after = value - slope * (place - kink)
        if after <= 0.0:
            break
        left.kinks.pop()
        place, value = kink, after
        slope -= change
        if abs(change) > _NEGLIGIBLE * slope:
            right.push(kink, change)
    return max(0.0, place - value / slope), slope


def _rightwards(
    left: _Side, right: _Side, place: float, value: float, slope: float
) -> tuple[float, float]:
    """The zero right of `place`, where the function has `value` <= 0, and its slope there."""
    while right.kinks:
        kink, change = right.nearest()
        after = value + slope * (kink - place)
        if after >= 0.0:
            break
        right.kinks.pop()
        place, value = kink, after
        slope += change
        if abs(change) > _NEGLIGIBLE * slope:
            left.push(kink, change)
    return place - value / slope, slope
