"""The docstrings of the library, which are plain text with code in backticks, for Sphinx.

Sphinx reads reStructuredText: there, one backtick is no code, and stars, bars and trailing
underscores have meanings that the docstrings do not have in mind.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

_CODE = re.compile(r"(`+[^`]+`+)")  # may go on in the next line
_MARKUP = re.compile(r"([\\*|_])")
_DOCTEST = re.compile(r"^\s*>>> ")


def as_restructured_text(lines: list[str]) -> list[str]:
    """The lines of a docstring with code in double backticks and nothing else that is markup.

    >>> as_restructured_text(["At most `x`, for |x| < 1.", "", ">>> f(*x)"])
    ['At most ``x``, for \\\\|x\\\\| < 1.', '', '>>> f(*x)']
    """
    found: list[str] = []
    plain: list[str] = []
    example = False
    for line in [*lines, None]:
        example = line is not None and (
            bool(_DOCTEST.match(line)) or (example and bool(line.strip()))
        )
        if line is None or example:
            found += _escaped("\n".join(plain)).split("\n") if plain else []
            found += [] if line is None else [line]
            plain = []
        else:
            plain.append(line)
    return found


def _escaped(text: str) -> str:
    parts = _CODE.split(text)  # text, code, text, ..., text
    plain = [_MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    code = [f"``{part.strip('`')}``" for part in parts[1::2]]
    for i, following in enumerate(plain[1:]):
        if following[:1].isalnum():  # the end of code is only seen before a space
            code[i] += "\\ "
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)


def _process(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    lines[:] = as_restructured_text(lines)
    if what == "property":  # else napoleon takes what stands before a first colon for a type
        lines[:0] = ["..", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process, priority=100)  # before napoleon
    return {"parallel_read_safe": True}
