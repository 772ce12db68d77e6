"""For each theorem of the library, by name, a run and losses that it is about.

A theorem is given one in the file of tests beside it, as `EXAMPLES` (and `SCHEDULED`, with steps
that differ, where it treats them in another way). One that rests on another has the example of that
one, with people who have several records or with a deletion.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from shiftdp.last_iterate import THEOREMS, Certificate, Geometry, Theorem, Unlearning
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.theorem import DELTA
from tests.last_iterate.theorems.usual import Examples, deleted, with_people


def tests_of(theorem: Theorem) -> Any:
    """The module of tests beside that of a theorem."""
    room, _, name = type(theorem).__module__.partition(".")[2].rpartition(".")
    return import_module(f"tests.{room}.test_{name}")


def example_of(theorem: Theorem) -> tuple[Run, Geometry]:
    """A run and losses that a theorem is about."""
    base = getattr(theorem, "base", None)
    if base is None:
        examples: Examples = tests_of(theorem).EXAMPLES
        return examples[theorem.name]
    run, losses = example_of(base)
    return deleted(run) if Unlearning in theorem.runs else with_people(run), losses


CATALOGUE: Examples = {theorem.name: example_of(theorem) for theorem in THEOREMS}
SCHEDULED: Examples = {
    theorem.name: tests_of(theorem).SCHEDULED[theorem.name]
    for theorem in THEOREMS
    if theorem.name in getattr(tests_of(theorem), "SCHEDULED", ())
}
"""The same with steps that differ, for theorems that treat them in another way."""


@cache
def certificate_by(name: str, *, scheduled: bool = False) -> Certificate:
    """The certificate by the theorem of this name, whether or not it is the best."""
    (theorem,) = (theorem for theorem in THEOREMS if theorem.name == name)
    run, geometry = (SCHEDULED if scheduled else CATALOGUE)[name]
    bound = bound_by(theorem, run, geometry, DELTA)
    return certificate_of(theorem.proved(bound, run, geometry, endless=False), run, geometry)
