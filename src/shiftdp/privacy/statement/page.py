"""The statement as one HTML file: no scripts, no fonts and no pictures from elsewhere."""

from __future__ import annotations

import base64
import zlib
from html import escape

from shiftdp._errors import InvalidInput
from shiftdp.privacy.statement.blocks import (
    Block,
    Bound,
    Grid,
    Items,
    Level,
    Line,
    Note,
    Pairs,
    Picture,
    Section,
    plain_line,
)
from shiftdp.privacy.statement.contents import headline, levels, title
from shiftdp.privacy.statement.guarantee import not_private
from shiftdp.privacy.statement.look import STYLE
from shiftdp.privacy.statement.subject import Statement

LARGEST = 300_000
"""Bytes of a page."""

_PLAIN = 60_000  # characters of a certificate that is embedded as it is; longer ones are packed

_UNBROKEN = 12  # characters of a cell that stays on one line

_SIGNATURE = (
    '<section class="sign"><h3>Signature</h3><p>I have read this statement. What it leaves '
    "to whoever signs, and what it calls declared, is true to the best of my knowledge.</p>"
    '<dl><div><dt>Name</dt><dd class="rule"></dd></div><div><dt>Role</dt><dd class="rule"></dd>'
    '</div><div><dt>Place and date</dt><dd class="rule"></dd></div><div><dt>Signature</dt>'
    '<dd class="rule tall"></dd></div></dl></section>'
)


def page(statement: Statement) -> str:
    """The whole file. The same statement gives the same text."""
    shown = levels(statement)
    body = [
        "<header>",
        f'<p class="kind">Differential privacy statement, {statement.day}</p>',
        f"<h1>{escape(title(statement))}</h1>",
        f'<p class="headline">{_line(headline(statement))}</p>',
        _note(not_private()) if not statement.private else "",
        "</header>",
        _contents(shown),
        *(_level(number, level) for number, level in enumerate(shown, 1)),
        _SIGNATURE,
        _embedded(statement),
    ]
    text = "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'\">",
            f"<title>{escape(title(statement))}, {statement.day}</title>",
            f"<style>{STYLE}</style>\n</head>\n<body>\n<main>",
            *(part for part in body if part),
            "</main>\n</body>\n</html>\n",
        ]
    )
    if len(text.encode()) > LARGEST:
        raise InvalidInput(
            "certificate",
            f"<{len(statement.certificate_text)} characters>",
            f"does not fit into a statement of {LARGEST // 1000} KB, however it is packed",
            "hand out the certificate as JSON, with statement(), and a run with fewer distinct "
            "numbers in its schedules",
        )
    return text


def _contents(shown: tuple[Level, ...]) -> str:
    links = (
        f'<li><a href="#level-{i}">{escape(level.heading)}</a></li>'
        for i, level in enumerate(shown, 1)
    )
    return f'<nav aria-label="Contents"><ol>{"".join(links)}</ol></nav>'


def _level(number: int, level: Level) -> str:
    sections = "\n".join(_section(section) for section in level.sections)
    return (
        f'<section class="level" id="level-{number}"><h2><span class="no">{number}</span> '
        f'{escape(level.heading)}</h2><p class="summary">{escape(level.summary)}</p>\n'
        f"{sections}</section>"
    )


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    beside = ' class="beside"' if any(isinstance(one, Picture) for one in section.blocks) else ""
    return f"<section{beside}><h3>{escape(section.heading)}</h3>\n{blocks}</section>"


def _block(block: Block) -> str:
    if isinstance(block, Pairs):
        rows = (
            f"<div><dt>{escape(name)}</dt><dd>{_line(text)}</dd></div>" for name, text in block.rows
        )
        return f"<dl>{''.join(rows)}</dl>"
    if isinstance(block, Items):
        return f"<ul>{''.join(f'<li>{_line(text)}</li>' for text in block.lines)}</ul>"
    if isinstance(block, Grid):
        return _grid(block)
    if isinstance(block, Picture):
        return f"<figure>{block.svg}<figcaption>{escape(block.title)}</figcaption></figure>"
    return _note(block)


def _grid(block: Grid) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in block.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td{_short(cell)} data-label="{escape(name)}">{_line(cell)}</td>'
            for name, cell in zip(block.columns, row, strict=True)
        )
        + "</tr>"
        for row in block.rows
    )
    narrow = " narrow" if len(block.columns) <= 3 and len(block.rows[0]) <= 3 else ""
    words = " words" if any(len(plain_line(c)) > 40 for row in block.rows for c in row) else narrow
    return f'<table class="grid{words}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _short(cell: Line) -> str:
    """A class for what is not broken over lines: numbers, days."""
    return ' class="s"' if len(plain_line(cell)) <= _UNBROKEN else ""


def _note(block: Note) -> str:
    if block.loud:
        return f'<p class="loud" role="alert">{_line(block.text)}</p>'
    return f"<p>{_line(block.text)}</p>"


def _line(parts: Line) -> str:
    return "".join(_bound(part) if isinstance(part, Bound) else _text(part) for part in parts)


def _bound(bound: Bound) -> str:
    """A computed number, with all of its digits for whoever computes it again."""
    return f'<data value="{bound.value!r}">{escape(bound.text)}</data>'


def _text(text: str) -> str:
    """Words as they are, with a place to break in long hashes, and `commands` as such."""
    pieces = escape(text).split("`")
    marked = (f"<code>{one}</code>" if i % 2 else one for i, one in enumerate(pieces))
    return "".join(marked) if len(pieces) % 2 else escape(text)


def _embedded(statement: Statement) -> str:
    """What `shiftdp verify` reads: data that no browser runs."""
    text = statement.certificate_text
    packed = len(text) > _PLAIN
    kind = "application/octet-stream" if packed else "application/json"
    content = pack(text) if packed else inert(text)
    return (
        f'<script type="application/json" id="statement">{inert(statement.to_json())}</script>\n'
        f'<script type="{kind}" id="certificate">{content}</script>'
    )


def inert(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def pack(text: str) -> str:
    """Compressed, in letters."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")
