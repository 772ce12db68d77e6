"""The exceptions of the package. Each says what was wrong, with which value, and what to do."""

from __future__ import annotations


class ShiftdpError(Exception):
    """Anything that shiftdp refuses to do."""


class InvalidInput(ShiftdpError, ValueError):
    """A value that has no meaning here: named, shown, and with a remedy.

    >>> raise InvalidInput("mu", -1.0, "is negative", "give a number >= 0")
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: mu=-1.0 is negative; give a number >= 0
    """

    def __init__(self, name: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(name, value, problem, remedy)
        self.name = name
        self.value = value
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.name}={_shown(self.value)} {self.problem}; {self.remedy}"


class OutOfRange(InvalidInput):
    """A number so large or so small that the arithmetic of the bounds is not proved for it."""


class UnmetHypothesis(InvalidInput):
    """A meaningful value under which no theorem applies: the message names the hypothesis."""


class NoClosedForm(ShiftdpError, ValueError):
    """The question is sound, but no closed form answers it."""


class VerificationFailed(ShiftdpError):
    """A certificate whose shifts do not prove the number that it states."""


def _shown(value: object) -> str:
    """A short form of a value: long arrays must not flood an error message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
