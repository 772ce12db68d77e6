"""The top of a statement: numbers equal those of the certificate."""

import re

import pytest

from shiftdp.privacy.statement.blocks import Bound, Grid, Items, Pairs
from shiftdp.privacy.statement.guarantee import DELTAS, guarantee_level
from tests.privacy.statement.examples import KINDS, certificates, html, stated


@pytest.mark.parametrize("kind", KINDS)
def test_epsilon_on_the_page_is_that_of_the_certificate(kind: str) -> None:
    certificate = certificates()[kind]
    (section, *_) = guarantee_level(stated(kind)).sections
    (block,) = section.blocks
    assert isinstance(block, Pairs)
    rows = dict(block.rows)
    assert rows["Epsilon"][0] == Bound(certificate.epsilon(1e-5))
    if certificate.mu is None:
        assert rows["Mu"][0] == "none: the curve is not that of Gaussian differential privacy"
    else:
        assert rows["Mu"][0] == Bound(certificate.mu)
    assert f'value="{certificate.epsilon(1e-5)!r}"' in html(kind)


def test_the_curve_is_tabulated_at_the_delta_of_the_statement_too() -> None:
    curve = guarantee_level(stated(delta=2e-6)).sections[2]
    (grid,) = [block for block in curve.blocks if isinstance(block, Grid)]
    assert len(grid.rows) == len(DELTAS) + 1
    certificate = certificates()["gd"]
    for (delta,), (epsilon,) in grid.rows:
        assert isinstance(delta, str)
        assert epsilon == Bound(certificate.epsilon(float(delta)))


def test_the_promise_is_that_of_risk() -> None:
    from shiftdp.privacy import risk

    promise = guarantee_level(stated()).sections[1]
    found = risk(certificates()["gd"])
    items = promise.blocks[0]
    assert isinstance(items, Items)
    shown = [part.value for line in items.lines for part in line if isinstance(part, Bound)]
    assert shown == [found.membership, found.advantage, found.reconstruction]


def test_the_question_is_that_of_the_adjacency() -> None:
    assert "used or left out" in html("poisson")
    assert "another in its place" in html("gd")
    assert "whether the deleted records were ever used" in html("unlearning")


def test_a_pipeline_names_its_sums_and_the_model_by_itself() -> None:
    text = html("pipeline")
    alone = certificates()["gd"].epsilon(1e-5)
    assert re.search(rf'The model by itself</dt><dd>epsilon <data value="{alone!r}"', text)
    assert "1 sum is released with noise" in text
    assert "moments" in text
    assert "age" in text
