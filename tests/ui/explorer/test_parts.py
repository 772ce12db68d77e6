"""Parts of the page have labels, and show what they were given."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("dash_mantine_components", reason="needs the extra `explore`")

from shiftdp._printed import down, percent, up
from shiftdp.ui.explorer import parts
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.fields import FIELDS, SECTIONS
from shiftdp.ui.explorer.sweep import accountants
from tests.ui.explorer.examples import RUNS, SMALL, settings


def written(component: object) -> str:
    from plotly.utils import PlotlyJSONEncoder

    return json.dumps(component, cls=PlotlyJSONEncoder, ensure_ascii=False)


@pytest.mark.parametrize("name", FIELDS)
def test_every_control_is_labelled(name: str) -> None:
    control = parts.control(FIELDS[name])
    assert control.label
    assert control.id == f"field-{name}"
    assert control.value == FIELDS[name].start


def test_every_section_is_named() -> None:
    assert [parts.controls(section).legend for section in SECTIONS] == list(SECTIONS)


def test_numbers_are_rounded_up() -> None:
    found = certified(RUNS["shuffled once"].asked())
    text = written(parts.headline(found))
    assert up(found.epsilon) in text
    assert "not Gaussian" in text
    assert parts.summary(found) == f"ε ≤ {up(found.epsilon)} at δ = 1e-05"
    for _, tpr in found.caught:
        assert percent(tpr) in written(parts.caught_table(found))


def test_what_is_attained_is_rounded_down() -> None:
    asked = RUNS["fixed"].asked()
    rows = accountants(asked, certified(asked).certificate)
    text = written(parts.accountant_table(rows, asked.delta))
    for row in rows:
        assert row.epsilon is not None
        shown = down(row.epsilon) if row.name == "lower bound" else up(row.epsilon)
        assert shown[:5] in text


def test_hypotheses_are_those_of_the_certificate() -> None:
    found = certified(RUNS["fixed"].asked())
    text = written(parts.hypotheses(found))
    assert all(item.name in text for item in found.certificate.assumptions)


def test_an_estimate_is_called_one() -> None:
    text = written(parts.estimated(1.234, "all steps composed"))
    assert "estimate, no bound" in text
    assert "being computed" in text


def test_complaints_and_notices_are_shown_where_there_are_any() -> None:
    assert "n is missing" in written(parts.complaint({"n": "n is missing", "m": "n is missing"}))
    assert parts.notice(None) == []
    notice = certified(settings(**{**SMALL, "batch_size": "333"}).asked()).notice
    assert "does not divide" in written(parts.notice(notice))
    assert "computed" in written(parts.working())
