"""Tradeoff functions that are made of another one, whose directions and accuracy they keep."""

from __future__ import annotations

from abc import abstractmethod

from shiftdp.fdp.tradeoff import TradeoffFunction


class Derived(TradeoffFunction):
    """A function of one other function, the `base`, in each of its two directions."""

    base: TradeoffFunction

    @abstractmethod
    def _made_of(self, base: TradeoffFunction) -> TradeoffFunction:
        """The function that is made in the same way of another base."""

    @property
    def symmetric(self) -> bool:
        return self.base.symmetric

    def inverse(self) -> TradeoffFunction:
        return self if self.symmetric else self._made_of(self.base.inverse())

    @property
    def directions(self) -> tuple[TradeoffFunction, TradeoffFunction]:
        without, there = self.base.directions
        if without == there:
            return self, self
        return self._made_of(without), self._made_of(there)

    @property
    def _record_first(self) -> bool | None:
        return self.base._record_first

    @property
    def composed(self) -> bool:
        return self.base.composed

    @property
    def accuracy(self) -> float:
        return self.base.accuracy
