"""Read a statement that somebody else may have written, and refuse one that was edited.

The page holds its certificate and what it was made from. The certificate is verified, the page is
made anew from both, and the two pages are compared: words character by character; each computed
number by its value, within what another processor may round differently, and its print by its
value; the curve that is drawn within a part of a pixel; a packed certificate by what is in it. So
no number and no word of a page can be changed without the certificate it rests on. How the file
was saved (line ends of another system, a byte order mark) makes no difference.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from itertools import zip_longest

from shiftdp._errors import InvalidInput, ShiftdpError, VerificationFailed
from shiftdp._strict_json import parse
from shiftdp.privacy.selection.kinds import certificate_in
from shiftdp.privacy.statement.blocks import Shape, clean, printed
from shiftdp.privacy.statement.page import LARGEST, pack
from shiftdp.privacy.statement.subject import FORMAT, Statement, own_version, statement_from

_ROUNDING = 1e-9  # by which processors may differ in a computed number, as a part of it
_PIXEL = 0.3  # by which they may differ in a drawing
_UNPACKED = 20_000_000  # characters of a certificate: no small file becomes a large one
_DATA = re.compile(r'<data value="([^"<>]*)">([^<>]*)</data>')
_DRAWING = re.compile(r"<svg .*?</svg>", re.DOTALL)
_CURVE = re.compile(r'(?<=class="curve" d=")[^"]*|(?<=class="area" d=")[^"]*')
_COORDINATE = re.compile(r"[0-9]{1,4}\.[0-9]")  # as curves are written
_BYTE_ORDER_MARK = "\ufeff"
_BLOCK = r'<script type="(application/[a-z-]+)" id="{}">([^<]*)</script>'


def is_statement(text: str) -> bool:
    """Whether it is a page of ours, at first sight."""
    start = text.removeprefix(_BYTE_ORDER_MARK).lstrip()[:15]
    return start.lower() == "<!doctype html>" and 'id="statement"' in text


def read_statement(text: str, *, compare: bool = True) -> Statement:
    """The statement in a page, whose certificate holds and whose print is what it says.

    Args:
        text: of the page.
        compare: whether the page must be, word for word, what this version writes. Without it only
            the certificate is verified, and what the page shows is not believed.

    Raises `InvalidInput` where it is no statement, and `VerificationFailed` where it is one that
    does not hold.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
    statement = _inside(text)
    statement.certificate.verify()
    if not compare:
        return statement
    own = own_version()
    if statement.version != own:
        raise VerificationFailed(
            f"the page was written by shiftdp {clean(statement.version)[:40]}, and this is {own}: "
            "its certificate holds, but its words cannot be compared; install that version, or "
            "make a page anew of what is in this one: shiftdp statement OLD.html -o NEW.html"
        )
    try:
        expected = statement.html()
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise _no_statement("is damaged: what it was made from cannot be shown") from error
    _compare(_packed_here(text, statement), expected)
    return statement


def _inside(text: str) -> Statement:
    """What the page was made from, not yet verified."""
    if len(text) > LARGEST or not is_statement(text):
        raise _no_statement("is no statement")
    try:
        document = parse(_block(text, "statement")[1])
        if document["format"] != FORMAT:
            raise _no_statement("has another format than statements have")
        kind, content = _block(text, "certificate")
        inner = content if kind == "application/json" else _unpacked(content)
        statement = statement_from(document, certificate_in(inner))
        if document["certificate"] != statement.certificate_digest:
            raise VerificationFailed("the certificate in the page is not the one it was made from")
        return statement
    except ShiftdpError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        raise _no_statement("is damaged: what it was made from cannot be read") from error


def _block(text: str, name: str) -> tuple[str, str]:
    found = re.findall(_BLOCK.format(name), text)
    if len(found) != 1:
        raise _no_statement(f"has no {name} inside, or several")
    kind, content = found[0]
    return kind, content


def _unpacked(content: str) -> str:
    try:
        data = base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise ValueError("not packed") from error
    reader = zlib.decompressobj()
    text = reader.decompress(data, _UNPACKED)
    if reader.unconsumed_tail or reader.unused_data or not reader.eof:
        raise ValueError("too long")
    if base64.b64encode(data).decode("ascii") != content:
        raise ValueError("packed in another way")
    return text.decode()


def _packed_here(text: str, statement: Statement) -> str:
    """The page with its certificate packed by the zlib of this machine.

    Others compress the same text to other bytes; what was packed must be the same text.
    """
    kind, content = _block(text, "certificate")
    if kind == "application/json" or _unpacked(content) != statement.certificate_text:
        return text
    return text.replace(content, pack(statement.certificate_text))


def _compare(given: str, expected: str) -> None:
    if given.count("<svg") != expected.count("<svg"):  # which also keeps the search below short
        raise VerificationFailed("the page has other drawings than its certificate gives")
    words, numbers, drawings = _parts(given)
    right_words, right_numbers, right_drawings = _parts(expected)
    for pair, right in zip_longest(numbers, right_numbers):
        if pair is None or right is None or not _same_number(pair, right):
            shown = "a number is missing" if pair is None else f"{pair[1][:40]!r} is printed"
            truth = "none belongs there" if right is None else f"the certificate gives {right[1]}"
            raise VerificationFailed(f"a number of the page was changed: {shown}, and {truth}")
    if words != right_words:
        raise VerificationFailed(
            f"the page was changed: it is not what its certificate says, near "
            f"{_near(words, right_words)!r}"
        )
    for one, other in zip_longest(drawings, right_drawings, fillvalue=""):
        if not _same_drawing(one, other):
            raise VerificationFailed("the drawing of the page is not that of its certificate")


def _parts(text: str) -> tuple[str, list[tuple[str, str]], list[str]]:
    """A page without its computed numbers and drawings, and these."""
    drawings = _DRAWING.findall(text)
    rest = _DRAWING.sub("<svg/>", text)
    return _DATA.sub("<data/>", rest), _DATA.findall(rest), drawings


def _same_number(given: tuple[str, str], right: tuple[str, str]) -> bool:
    """Whether a printed number is what is computed here, up to rounding, and printed as it is."""
    if given == right:
        return True
    try:
        value, expected = float(given[0]), float(right[0])
    except ValueError:
        return False
    if (
        repr(value) != given[0]
        or not math.isfinite(value)
        or abs(value - expected) > _ROUNDING * abs(expected)
    ):
        return False
    shapes: tuple[Shape, ...] = ("number", "percent", "short")
    as_right = [shape for shape in shapes if printed(expected, shape) == right[1]]
    return any(printed(value, shape) == given[1] for shape in as_right)


def _same_drawing(given: str, right: str) -> bool:
    """Whether all is the same but for parts of a pixel of the curve."""
    if _CURVE.sub("", given) != _CURVE.sub("", right):
        return False
    return all(map(_same_curve, _CURVE.findall(given), _CURVE.findall(right)))


def _same_curve(given: str, right: str) -> bool:
    if _COORDINATE.sub("0", given) != _COORDINATE.sub("0", right):
        return False
    pairs = zip(_COORDINATE.findall(given), _COORDINATE.findall(right), strict=True)
    return all(abs(float(one) - float(other)) <= _PIXEL for one, other in pairs)


def _near(given: str, right: str) -> str:
    """A few characters of the page where it begins to differ."""
    place = next(
        (i for i, (one, other) in enumerate(zip(given, right, strict=False)) if one != other),
        min(len(given), len(right)),
    )
    return " ".join(given[max(0, place - 20) : place + 40].split())


def _no_statement(problem: str) -> InvalidInput:
    return InvalidInput(
        "statement", "<HTML text>", problem, "give a page that `shiftdp statement` wrote"
    )
