"""A statement is read back, and one that was edited is refused."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftdp
from shiftdp._errors import InvalidInput, ShiftdpError, VerificationFailed
from shiftdp.last_iterate import Certificate, NoisyGD, certify
from shiftdp.privacy.statement import read_statement, statement_of
from shiftdp.privacy.statement.page import inert
from shiftdp.privacy.statement.reading import is_statement
from tests.privacy.statement.examples import DAY, GD, KINDS, STRONG, certificates, html, stated

CURVE = 'class="curve"'


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_read_back_and_verified(kind: str) -> None:
    found = read_statement(html(kind))
    assert found.certificate.to_json() == certificates()[kind].to_json()
    assert (found.delta, found.day) == (1e-5, DAY)


def test_a_page_that_came_with_other_line_ends_is_the_same() -> None:
    assert read_statement(html().replace("\n", "\r\n")).day == DAY
    assert read_statement("\ufeff" + html().replace("\n", "\r\n")).day == DAY


def numbers(text: str) -> list[tuple[int, int]]:
    return [found.span(1) for found in re.finditer(r"<data [^>]*>([^<]*)</data>", text)]


def test_every_printed_number_that_is_changed_is_refused() -> None:
    text = html()
    for start, end in numbers(text):
        edited = text[:start] + "0.0001" + text[end:]
        with pytest.raises(VerificationFailed, match=r"number of the page was changed: '0\.0001'"):
            read_statement(edited)


def test_a_number_with_its_value_changed_too_is_refused() -> None:
    text = html()
    epsilon = certificates()["gd"].epsilon(1e-5)
    edited = re.sub(rf'value="{epsilon!r}">[^<]*<', 'value="0.5">0.5<', text)
    assert edited != text
    with pytest.raises(VerificationFailed, match=r"the certificate gives"):
        read_statement(edited)


def test_a_number_may_differ_by_the_rounding_of_another_processor() -> None:
    text = html()
    epsilon = certificates()["gd"].epsilon(1e-5)
    edited = text.replace(f'"{epsilon!r}"', f'"{epsilon * (1 + 1e-13)!r}"')
    assert edited != text
    assert read_statement(edited).day == DAY


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('text-anchor="middle">0.2<', 'text-anchor="middle">0.4<'),
        ('text-anchor="end">1<', 'text-anchor="end">0.8<'),
        ('text-anchor="end">0.2<', 'text-anchor="end">\u0660.\u0662<'),
        ('class="none" d="M62 ', 'class="none" d="M62.2 '),
        ("</svg>", "</svg><svg ></svg>"),
    ],
    ids=["across", "up", "other digits", "guessing", "second drawing"],
)
def test_a_drawing_whose_axes_or_lines_were_changed_is_refused(old: str, new: str) -> None:
    edited = html().replace(old, new)
    assert edited != html()
    with pytest.raises(VerificationFailed, match="drawing"):
        read_statement(edited)


def test_the_curve_may_be_off_by_a_part_of_a_pixel_only() -> None:
    text = html()
    points = re.findall(r'class="curve" d="M([^"]*)"', text)[0].split("L")
    x, y = map(float, points[20].split())
    for off, fine in ((0.1, True), (3.0, False)):
        edited = text.replace(points[20], f"{x:.1f} {y + off:.1f}")
        assert edited != text
        if fine:
            assert read_statement(edited).day == DAY
        else:
            with pytest.raises(VerificationFailed, match="drawing"):
                read_statement(edited)


@pytest.mark.parametrize("write", ["  {}  ", "{}0", "+{}", "{}e0"])
def test_all_digits_of_a_number_are_written_in_one_way(write: str) -> None:
    epsilon = repr(certificates()["gd"].epsilon(1e-5))
    edited = html().replace(f'"{epsilon}"', f'"{write.format(epsilon)}"')
    assert edited != html()
    with pytest.raises(VerificationFailed, match="a number of the page was changed"):
        read_statement(edited)


def test_a_page_full_of_drawings_is_refused_before_they_are_searched() -> None:
    edited = html().replace("</main>", 30_000 * "<svg " + "</main>")
    with pytest.raises(VerificationFailed, match="other drawings"):
        read_statement(edited)


@given(st.data())
def test_no_change_of_a_character_that_is_seen_is_accepted(data: st.DataObject) -> None:
    text = html()
    end = text.index("<script")
    place = data.draw(st.integers(0, end - 1))
    char = data.draw(st.sampled_from("0123456789ax<> "))
    if text[place] == char:
        return
    edited = text[:place] + char + text[place + 1 :]
    start = text.index("<svg")
    try:
        read_statement(edited)
    except ShiftdpError:
        return
    # what is left: less than a pixel of the curve, or a last digit behind a number
    inside = text.rfind("class=", start, place) in (text.find('class="area"'), text.find(CURVE))
    assert inside or 'value="' in text[max(0, place - 30) : place]


def test_a_certificate_that_is_exchanged_is_refused() -> None:
    other = certify(NoisyGD(**{**GD, "noise": 1.4}), STRONG).to_json()
    own = inert(certificates()["gd"].to_json())
    edited = html().replace(own, inert(other))
    assert edited != html()
    with pytest.raises(VerificationFailed, match="not the one it was made from"):
        read_statement(edited)


def test_a_certificate_that_proves_nothing_is_refused() -> None:
    certificate = certificates()["gd"]
    assert isinstance(certificate, Certificate)
    forged = replace(certificate, f=shiftdp.GaussianTradeoff(0.01))
    with pytest.raises(VerificationFailed, match="mu is not what is proved"):
        read_statement(statement_of(forged, date=DAY).html())


def test_a_page_of_another_version_is_not_compared_and_not_accepted() -> None:
    old = replace(stated(), version="0.0.1").html()
    with pytest.raises(VerificationFailed, match=r"written by shiftdp 0\.0\.1.*statement OLD"):
        read_statement(old)
    assert read_statement(old, compare=False).version == "0.0.1"


def test_what_is_no_statement_is_refused() -> None:
    assert not is_statement("{}")
    for text in ("", "{}", "<!doctype html>", html().replace('id="certificate"', 'id="other"')):
        with pytest.raises(InvalidInput, match="statement"):
            read_statement(text)


def test_what_a_page_was_made_from_may_be_anything_and_is_refused() -> None:
    text = html()
    inner = inert(stated().to_json())
    document = json.loads(stated().to_json())
    for change in ({"date": 7}, {"delta": "x"}, {"ledger": {"rows": 3}}, {"about": {"x": "y"}}):
        edited = text.replace(inner, inert(json.dumps({**document, **change})))
        with pytest.raises(ShiftdpError):
            read_statement(edited)


def test_a_long_certificate_is_packed_and_read_back() -> None:
    run = NoisyGD(n=50, steps=4000, learning_rate=0.4, noise=[0.7 + k % 7 for k in range(4000)])
    certificate = certify(run, STRONG, bounds="composition")
    text = statement_of(certificate, date=DAY).html()
    assert len(certificate.to_json()) > 20_000
    assert read_statement(text).certificate.to_json() == certificate.to_json()


def test_a_certificate_may_be_packed_by_another_zlib_and_holds_nothing_else() -> None:
    noise = [0.7 + (k * k % 701) / 70 for k in range(4000)]
    run = NoisyGD(n=50, steps=4000, learning_rate=0.4, noise=noise)
    text = statement_of(certify(run, STRONG, bounds="composition"), date=DAY).html()
    packed = re.findall(r'octet-stream" id="certificate">([^<]*)<', text)[0]
    inner = zlib.decompress(base64.b64decode(packed))

    def exchanged(data: bytes) -> str:
        return text.replace(packed, base64.b64encode(data).decode())

    other = exchanged(zlib.compress(inner, 6))
    assert other != text
    assert read_statement(other).day == DAY
    for data in (zlib.compress(inner) + b"more", zlib.compress(inner + b" "), b"none"):
        with pytest.raises(ShiftdpError):
            read_statement(exchanged(data))


@pytest.mark.parametrize("version", [5, None, ["0.1.0"]])
def test_a_version_that_is_no_text_is_another_version(version: object) -> None:
    """Found by fuzzing: the message about it could not be made."""
    page = html("gd")
    changed = page.replace(
        f'"shiftdp": "{shiftdp.__version__}"', f'"shiftdp": {json.dumps(version)}'
    )
    assert changed != page
    with pytest.raises(VerificationFailed, match="was written by shiftdp"):
        read_statement(changed)
