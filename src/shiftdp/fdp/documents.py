"""The functions that can be written down and read back, by the name of their type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftdp.fdp.composition.allocation import AllocatedZeroOut
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture
from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.envelope import Maximum, Minimum
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.group import GroupTradeoff
from shiftdp.fdp.functions.hidden import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.selection.selected import Selected
from shiftdp.fdp.tradeoff import TradeoffFunction

TYPES: dict[str, type[TradeoffFunction]] = {
    kind.type_name: kind
    for kind in (
        AllocatedZeroOut,
        ApproxDPTradeoff,
        Composite,
        GaussianTradeoff,
        GroupTradeoff,
        HiddenExchange,
        HiddenMixture,
        HiddenReplaceOne,
        HiddenZeroOut,
        Identity,
        LaplaceTradeoff,
        Maximum,
        Minimum,
        Mixture,
        PiecewiseLinear,
        PoissonReplaceOne,
        PoissonZeroOut,
        Selected,
        ShiftedSubsampled,
        Subsampled,
        WithFailure,
    )
}


def tradeoff_from_dict(data: Mapping[str, Any]) -> TradeoffFunction:
    """The function that `to_dict` wrote: its type, and the arguments of its constructor.

    >>> tradeoff_from_dict(
    ...     {"type": "subsampled", "base": {"type": "gaussian", "mu": 0.5}, "p": 0.1}
    ... )
    Subsampled(base=GaussianTradeoff(mu=0.5), p=0.1)
    """
    arguments = {name: _made(value) for name, value in data.items() if name != "type"}
    return TYPES[data["type"]](**arguments)


def _made(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tradeoff_from_dict(value)
    return tuple(_made(item) for item in value) if isinstance(value, (list, tuple)) else value
