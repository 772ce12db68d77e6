"""Epsilon as a function of the noise without jumps, so that a bisection ends.

Opacus bisects until epsilon is just below its target, and for ever if epsilon jumps over it. Bounds
with free parameters do jump: where the search for these finds another optimum, a little more noise
may cost a good deal less. Between two noises that are as good as equal, epsilon is therefore drawn
as a line from the one to the other where it is below it: a larger epsilon is still a bound.
"""

from __future__ import annotations

_NARROW = 1.0 + 1e-6  # noises whose quotient is smaller are as good as equal


class Probes:
    """The noises that were asked about so far, with the answers.

    >>> probes = Probes()
    >>> probes.bridged(1.0, 2.0), probes.bridged(1.1, 1.0), probes.bridged(1.05, 1.0)
    (2.0, 1.0, 1.0)
    >>> probes.bridged(1.0 + 4e-7, 1.0)
    1.0
    >>> round(probes.bridged(1.0 + 2e-7, 1.0), 6)  # in the middle of a jump from 2 to 1
    1.5
    """

    def __init__(self) -> None:
        self._answers: dict[float, float] = {}

    def bridged(self, noise: float, epsilon: float) -> float:
        """At least `epsilon`, and at least the line between its neighbours if these are close."""
        left = max((known for known in self._answers if known < noise), default=None)
        right = min((known for known in self._answers if known > noise), default=None)
        answer = epsilon
        if left is not None and right is not None and right <= left * _NARROW:
            share = (noise - left) / (right - left)
            line = (1.0 - share) * self._answers[left] + share * self._answers[right]
            answer = max(epsilon, line)
        self._answers[noise] = answer
        return answer
