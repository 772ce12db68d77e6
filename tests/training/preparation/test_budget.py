"""The budget of a pipeline is split by a rule, and the model gets all that is left."""

from __future__ import annotations

import pytest

from shiftdp import GaussianTradeoff, Identity, InvalidInput
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.sklearn import (
    Boolean,
    Numeric,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
)
from shiftdp.training.preparation.budget import (
    LARGEST_OF_MOMENTS,
    PRECISE,
    aims,
    encoder_share,
    layout_in_pipeline,
)
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
    part = encoder_share(PrivateTableEncoder(), layout, pipeline, 1, "replace_one")
    own = encoder_share(PrivateTableEncoder(epsilon=0.5), layout, pipeline, 1, "replace_one")
    assert part.mu == pytest.approx(0.3**0.5 * GaussianTradeoff.from_budget(1.0, 1e-5).mu)
    assert own.mu == pytest.approx(GaussianTradeoff.from_budget(0.5, 1e-5).mu)
    with pytest.raises(InvalidInput, match="leaves nothing"):
        encoder_share(PrivateTableEncoder(epsilon=1.0), layout, pipeline, 1, "replace_one")


RANGES = layout_of(
    [Numeric(low=0, high=9), Numeric(low=0, high=9), Numeric(low=0, high=9, scale="range")],
    raw_table([[1.0, 2.0, 3.0]]),
)
PIPELINE = PrivatePipeline([PrivateTableEncoder(), PrivateLogisticRegression()], 1.0, 1e-5)


@pytest.mark.parametrize(("n", "part"), [(10, 0.1), (3_000, 0.1), (100_000, None)])
def test_moments_alone_get_a_tenth_at_most_and_no_more_than_makes_them_precise(
    n: int, part: float | None
) -> None:
    share = encoder_share(PrivateTableEncoder(), RANGES.standardised, PIPELINE, n, "replace_one")
    whole = GaussianTradeoff.from_budget(1.0, 1e-5).mu
    if part is not None:
        assert share.mu == pytest.approx(part**0.5 * whole)
        return
    first, second = RANGES.standardised.sums(share, n, "replace_one")
    assert first.noise == second.noise == pytest.approx(PRECISE * n)
    assert share.mu < 0.05**0.5 * whole


def test_a_smaller_share_is_kept_to() -> None:
    pipeline = PrivatePipeline(PIPELINE.steps, 1.0, 1e-5, share=0.01)
    share = encoder_share(PrivateTableEncoder(), RANGES.standardised, pipeline, 10, "zero_out")
    assert share.mu == pytest.approx(0.1 * GaussianTradeoff.from_budget(1.0, 1e-5).mu)


def test_declared_ranges_are_standardised_unless_noise_would_hide_their_moments() -> None:
    def scales(n: int) -> list[object]:
        found = layout_in_pipeline(RANGES, PrivateTableEncoder(), PIPELINE, n, "replace_one")
        return [column.to_dict().get("scale") for column in found.columns]

    noise = RANGES.standardised.sums(
        encoder_share(PrivateTableEncoder(), RANGES.standardised, PIPELINE, 300, "replace_one"),
        300,
        "replace_one",
    )[0].noise
    least = round(noise / LARGEST_OF_MOMENTS)
    assert 300 < least < 2_000
    assert scales(least + 2) == ["moments", "moments", "range"]
    assert scales(least - 2) == [None, None, "range"]


def test_what_is_declared_with_its_scale_stays_as_it_is() -> None:
    layout = layout_of([Numeric(low=0, high=9, scale="range"), Boolean()], raw_table([[1.0, 1.0]]))
    assert layout.standardised == layout
    encoder = PrivateTableEncoder()
    assert layout_in_pipeline(layout, encoder, PIPELINE, 10**6, "zero_out") is layout


def test_an_encoder_with_an_epsilon_of_its_own_learns_what_its_schema_says() -> None:
    encoder = PrivateTableEncoder(epsilon=0.1)
    assert layout_in_pipeline(RANGES, encoder, PIPELINE, 10**6, "zero_out") is RANGES


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
