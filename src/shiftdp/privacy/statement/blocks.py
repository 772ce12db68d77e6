"""What a statement is made of: words, numbers that are computed, and how these are told apart.

Everything that a certificate holds is printed as it stands there. A number that is *computed* from
it (an epsilon, a success rate of an attacker) is a `Bound`: rounded to the safe side in print, with
all of its digits beside it, so that a reader of the page can compute it again and compare.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shiftdp._printed import percent, trimmed, up

Shape = Literal["number", "percent", "short"]

_SHORT = 3  # digits of a number in a table


@dataclass(frozen=True)
class Bound:
    """A computed upper bound, and how it is printed."""

    value: float
    shape: Shape = "number"

    @property
    def text(self) -> str:
        """Rounded up.

        >>> Bound(4.33910001).text, Bound(0.38021, "percent").text, Bound(0.1, "short").text
        ('4.3392', '38.03%', '0.1')
        """
        return printed(self.value, self.shape)


def printed(value: float, shape: Shape) -> str:
    """A bound in print, never smaller than it is."""
    if shape == "percent":
        return percent(value)
    return trimmed(up(value, _SHORT)) if shape == "short" else trimmed(up(value))


Part = str | Bound
Line = tuple[Part, ...]


def line(*parts: Part) -> Line:
    """A line of text with numbers in it."""
    return parts


@dataclass(frozen=True)
class Pairs:
    """Names and what belongs to them."""

    rows: tuple[tuple[str, Line], ...]


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Grid:
    """A table: headings, and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True)
class Note:
    """A paragraph; a loud one is a warning that nobody may overlook."""

    text: Line
    loud: bool = False


@dataclass(frozen=True)
class Picture:
    """An SVG drawing with its title. It is made of numbers only."""

    title: str
    svg: str


Block = Pairs | Items | Grid | Note | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Level:
    """A level of the pyramid of NIST SP 800-226, from its top to its base."""

    heading: str
    summary: str
    sections: tuple[Section, ...]


def plain_line(parts: Line) -> str:
    """A line as plain text."""
    return "".join(part.text if isinstance(part, Bound) else part for part in parts)


def sentences(*texts: str) -> Items:
    """A list of sentences without computed numbers."""
    return Items(tuple(line(text) for text in texts))


def pairs(rows: Sequence[tuple[str, str | Line]]) -> Pairs:
    """Names and texts."""
    return Pairs(
        tuple((name, line(text) if isinstance(text, str) else text) for name, text in rows)
    )


_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")  # categories of Unicode
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and marks without ink
_MOST_MARKS = 4  # on one letter; no script needs more


def clean(text: str) -> str:
    """Text from a file without characters that are not seen, or that change how others are seen.

    A bidirectional control, for one, can make a number read backwards, and a heap of accents on one
    letter can cover the lines around it.

    >>> clean("caf\\u00e9 \\u202e1.0\\x07")
    'café �1.0�'
    """
    found, marks = [], 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category.startswith("M") else 0
        if char in "\n\t":
            found.append(" ")
        elif category in _UNSEEN or char in _BLANK or marks > _MOST_MARKS:
            found.append("\ufffd")
        else:
            found.append(char)
    return "".join(found)
