"""The ways to draw random batches: one list, from which all others follow."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest

from shiftdp import Geometry, NoisySGD, UnmetHypothesis, certify
from shiftdp.last_iterate.certificate_schema import SCHEMA
from shiftdp.last_iterate.runs.samplers import SAMPLERS, Sampling
from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.options import IN_EPOCHS, SAMPLINGS

SHAPE = {"n": 10, "batch_size": 4, "learning_rate": 0.1, "noise": 1.0}


def run_of(sampling: Sampling) -> NoisySGD:
    return NoisySGD(**SHAPE, steps=6, sampling=sampling)  # type: ignore[arg-type]


def test_literals_schema_options_and_explorer_name_the_same() -> None:
    assert get_args(Sampling) == tuple(SAMPLERS) == SAMPLINGS
    assert tuple(FIELDS["sampling"].words) == SAMPLINGS
    assert str([*SAMPLERS]) in str(SCHEMA)
    assert tuple(name for name, one in SAMPLERS.items() if one.in_epochs) == IN_EPOCHS


@pytest.mark.parametrize("sampling", SAMPLERS)
def test_a_run_answers_by_its_sampler(sampling: Sampling) -> None:
    run, sampler = run_of(sampling), SAMPLERS[sampling]
    assert run.in_epochs == sampler.in_epochs
    assert run.has_random_sizes == (not sampler.replaces)
    assert Fraction(*run.odds) == (Fraction(1, 3) if sampler.in_epochs else Fraction(4, 10))
    assert run.participation == float(Fraction(*run.odds))
    assert run.largest_batch == (4 if sampler.replaces else 10)
    for text in (run.in_words, run.batches_in_words):
        assert "{" not in text


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_an_adjacency_is_refused_exactly_where_the_sampler_says_so(
    sampling: Sampling, adjacency: str
) -> None:
    geometry = Geometry(
        strong_convexity=0.1,
        smoothness=1.0,
        sensitivity=1.0,
        gradient_bound=0.5 if adjacency == "replace_one" else None,
        adjacency=adjacency,  # type: ignore[arg-type]
    )
    refusal = SAMPLERS[sampling].refused.get(adjacency)
    if refusal is None:
        assert certify(run_of(sampling), geometry, bounds="composition").epsilon(1e-5) > 0.0
        return
    with pytest.raises(UnmetHypothesis) as error:
        certify(run_of(sampling), geometry)
    assert all(part in str(error.value) for part in refusal)
