"""The sides of claims: a call in this process, a peer in its own, a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .claim import Reading
from .clock import Timer
from .environments import server, title


@dataclass(frozen=True)
class Here:
    """Processor seconds of a call in this process: ours, or a floor.

    Args:
        name: what is timed.
        call: gives the answer.
        warm: whether it is called once before it is timed.
        per: what the seconds are divided by, steps for one.
    """

    name: str
    call: Callable[[], Any]
    warm: bool = True
    per: float = 1.0
    _timer: list[Timer] = field(default_factory=list, repr=False)

    def read(self) -> Reading:
        if not self._timer:
            self._timer.append(Timer(self.call, self.warm))
        seconds, answer = self._timer[0].read()
        return Reading(seconds / self.per, answer)


@dataclass(frozen=True)
class Peer:
    """Processor seconds of a task of a peer, in its own environment and process."""

    environment: str
    task: str
    given: Mapping[str, Any] = field(default_factory=dict)
    warm: bool = True
    per: float = 1.0
    figure: str | None = None
    """What of the answer is the figure, in place of the seconds."""

    @property
    def name(self) -> str:
        return title(self.environment)

    def read(self) -> Reading:
        seconds, answer = server(self.environment).ask(self.task, self.given, self.warm)
        if self.figure is not None:
            return Reading(float(answer[self.figure]), answer)
        return Reading(seconds / self.per, answer)


@dataclass(frozen=True)
class Reads:
    """A side that finds its own figure: clock time, noise, epsilon, megabytes."""

    name: str
    call: Callable[[], tuple[float, Any]]

    def read(self) -> Reading:
        return Reading(*self.call())


@dataclass(frozen=True)
class Limit:
    """A number that the figure has to stay below; its answer is what `agree` compares with."""

    name: str
    number: float
    answer: Any = None

    def read(self) -> Reading:
        return Reading(self.number, self.answer)
