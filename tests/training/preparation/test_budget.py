"""The budget of a pipeline is split by a rule, and the model gets all that is left."""

from __future__ import annotations

import pytest

from shiftdp import GaussianTradeoff, Identity, InvalidInput
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.sklearn import PrivateLogisticRegression, PrivatePipeline, PrivateTableEncoder
from shiftdp.training.preparation.budget import aims, encoder_share
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.reading import raw_table


def first(f: object, epsilon: float = 1.0, delta: float = 1e-5) -> float:
    return next(iter(aims(f, epsilon, delta)))(0.0)  # type: ignore[arg-type]


def test_nothing_to_pay_leaves_everything_to_the_model() -> None:
    assert first(Identity()) == 1.0


def test_the_first_aim_is_exact_for_gaussian_models() -> None:
    for f in (GaussianTradeoff(0.1), WithFailure(GaussianTradeoff(0.1), 1e-6)):
        mu = GaussianTradeoff.from_budget(first(f), 1e-5).mu
        spent = f.compose(GaussianTradeoff(mu)).epsilon(1e-5)
        assert 1.0 - 1e-6 < spent <= 1.0


def test_later_aims_come_down_by_what_was_too_much() -> None:
    tried = aims(GaussianTradeoff(0.1), 1.0, 1e-5)
    one = next(tried)(0.0)
    two = next(tried)(1.25)
    assert 0.7 * one < two < one / 1.25  # the preparation stays, so the model has to give more
    assert next(tried)(1.0) < two


def test_an_encoder_with_an_epsilon_of_its_own_gets_that() -> None:
    layout = layout_of(None, raw_table([[1.0]]))
    pipeline = PrivatePipeline([PrivateTableEncoder(), PrivateLogisticRegression()], 1.0, 1e-5)
    part = encoder_share(PrivateTableEncoder(), layout, pipeline)
    own = encoder_share(PrivateTableEncoder(epsilon=0.5), layout, pipeline)
    assert part.mu == pytest.approx(0.3**0.5 * GaussianTradeoff.from_budget(1.0, 1e-5).mu)
    assert own.mu == pytest.approx(GaussianTradeoff.from_budget(0.5, 1e-5).mu)
    with pytest.raises(InvalidInput, match="leaves nothing"):
        encoder_share(PrivateTableEncoder(epsilon=1.0), layout, pipeline)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_model_that_costs_more_than_it_aims_at_is_soon_within_the_budget(share: float) -> None:
    whole = GaussianTradeoff.from_budget(1.0, 1e-5).mu
    preparation, spent = GaussianTradeoff(share**0.5 * whole), [0.0]
    for aim in aims(preparation, 1.0, 1e-5):
        model = GaussianTradeoff(1.3 * GaussianTradeoff.from_budget(aim(spent[-1]), 1e-5).mu)
        spent.append(preparation.compose(model).epsilon(1e-5))
        if spent[-1] <= 1.0:
            break
    assert 0.999 < spent[-1] <= 1.0
    assert len(spent) <= 4


def test_budgets_that_leave_nothing_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"^delta="):
        first(WithFailure(GaussianTradeoff(0.1), 1e-15), 1.0, 1e-20)
    with pytest.raises(InvalidInput, match=r"^share="):
        first(GaussianTradeoff(0.1), 1e-9, 0.5)
