"""The order of a statement, its headline, and the base of the pyramid."""

from shiftdp.privacy.statement.blocks import plain_line
from shiftdp.privacy.statement.contents import headline, levels, title
from tests.privacy.statement.examples import html, stated


def test_the_order_is_from_top_to_base() -> None:
    assert [level.heading for level in levels(stated())] == [
        "The guarantee",
        "What it rests on, and what would void it",
        "Data and collection",
        "Verification and signature",
    ]


def test_the_headline_says_what_for_whom() -> None:
    assert plain_line(headline(stated("people"))).endswith(
        "of everything that is released, for one person with at most 3 records"
    )
    assert "what is left of the deleted records" in plain_line(headline(stated("unlearning")))
    assert "everything that the pipeline learnt" in plain_line(headline(stated("pipeline")))


def test_what_the_publisher_says_is_called_so() -> None:
    assert "has said nothing about the data" in html()
    text = stated(about={"collection": "by post", "title": "Survey"}).html()
    assert "by post" in text
    assert "publisher&#x27;s word" in text
    assert title(stated(about={"title": "Survey"})) == "Survey"


def test_records_are_counted_where_there_are_some() -> None:
    assert "12 (public)" in html("pipeline")
    assert "(public)" not in html("stream")
