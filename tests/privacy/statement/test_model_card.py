"""The section of a model card."""

from shiftdp.privacy.statement import ModelFacts
from shiftdp.privacy.statement.blocks import Bound
from tests.privacy.statement.examples import certificates, stated


def test_metadata_come_first_and_name_the_library() -> None:
    lines = stated(model=ModelFacts("PrivateHuberRegressor")).model_card().splitlines()
    end = lines.index("---", 1)
    assert lines[0] == "---"
    assert lines[1] == "library_name: sklearn"
    tags = [line.removeprefix("- ") for line in lines[3:end]]
    assert {"differential-privacy", "skops", "tabular-regression"} <= set(tags)
    assert "skops" not in stated().model_card().split("---")[1]


def test_it_says_what_the_page_says() -> None:
    card = stated().model_card()
    assert f"**({Bound(certificates()['gd'].epsilon(1e-5)).text}, 1e-05)-differential" in card
    for heading in ("### The promise in plain words", "### Theorem and hypotheses"):
        assert heading in card
    assert "| losses | each loss is 0.3-strongly convex and 2-smooth |" in card


def test_markdown_and_html_in_it_are_shown_as_they_are() -> None:
    card = stated(about={"title": "a_b*c <script>|"}).model_card()
    assert "# a\\_b\\*c \\<script\\>\\|" in card
    assert "<script>" not in card
