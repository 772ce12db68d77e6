"""The settings as code: a few lines of Python, and a command for the shell."""

from __future__ import annotations

import math
import shlex
from typing import Any

from shiftdp.ui.explorer.fields import UNSAID
from shiftdp.ui.explorer.settings import Settings
from shiftdp.ui.options import GEOMETRY, KINDS
from shiftdp.ui.refusals import folded

_WIDTH = 64  # characters of a line of code, as wide as its box on the page


def as_python(settings: Settings) -> str:
    """Python that prints the epsilon of the page.

    >>> print(
    ...     as_python(
    ...         Settings.from_query("kind=exponential&strong_convexity=1&sensitivity=1&delta=1e-5")
    ...     )
    ... )
    import shiftdp as sdp
    <BLANKLINE>
    geometry = sdp.Geometry(
        strong_convexity=1,
        smoothness=float("inf"),
        sensitivity=1,
    )
    run = sdp.ExponentialMechanism()
    certificate = sdp.certify(run, geometry, delta=1e-05)
    print(certificate.epsilon(1e-05))
    """
    values = settings.values()
    if settings.kind == "exponential":
        values["smoothness"] = math.inf
    kind = KINDS[settings.kind]
    lines = [
        "import shiftdp as sdp",
        "",
        f"geometry = {_call('Geometry', values, GEOMETRY.fields)}",
        f"run = {_call(kind.type, values, kind.fields)}",
    ]
    if "further_steps" in values:
        lines.append(
            f"run = sdp.Unlearning(training=run, further_steps={values['further_steps']!r}, "
            f"records={values['records']!r})"
        )
    delta = _written(values["delta"])
    bounds = values.get("bounds", "best")
    chosen = "" if bounds == "best" else f', bounds="{bounds}"'
    lines.append(f"certificate = sdp.certify(run, geometry, delta={delta}{chosen})")
    lines.append(f"print(certificate.epsilon({delta}))")
    return "\n".join(lines)


def as_command(settings: Settings) -> str:
    """A command line that prints the epsilon of the page, folded over lines.

    >>> as_command(Settings.from_query("kind=gd&n=10&further_steps=5&records=1&bounds=best"))
    'shiftdp unlearn gd --n 10 --further-steps 5'
    """
    texts = settings.by_name
    command = "unlearn" if "further_steps" in texts else "account"
    if command == "unlearn" and texts.get("bounds", "best") != "best":
        return "# shiftdp unlearn uses all theorems; for the others take the Python"
    left_out = {"kind"} | ({"records"} if command == "account" else set())
    words = ["shiftdp", command, settings.kind]
    for name, text in settings.texts:
        if name not in left_out and text != UNSAID.get(name):
            words += [f"--{name.replace('_', '-')}", shlex.quote(text)]
    return folded(" ".join(words), 0)


def _call(name: str, values: dict[str, Any], fields: tuple[str, ...]) -> str:
    given = [
        f"{field}={_written(values[field])}"
        for field in fields
        if field in values and str(values[field]) != UNSAID.get(field)
    ]
    line = f"sdp.{name}({', '.join(given)})"
    if len(line) <= _WIDTH:
        return line
    return "\n    ".join([f"sdp.{name}(", *(f"{one}," for one in given)]) + "\n)"


def _written(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")' if value > 0 else 'float("-inf")'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
