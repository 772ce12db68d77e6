"""What is set on the page: texts by name, the address that holds them, the run they describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.explorer.fields import FIELDS, ORDERS, UNSAID, fields_of, needed_of
from shiftdp.ui.options import GEOMETRY, KINDS
from shiftdp.ui.refusals import shown
from shiftdp.ui.types import NUMBER, NUMBERS, RELEASES

if TYPE_CHECKING:
    from shiftdp.last_iterate import Geometry
    from shiftdp.last_iterate.certification import Bounds
    from shiftdp.last_iterate.runs import Run

_CONVERTED = {"learning_rate": NUMBERS, "noise": NUMBERS, "releases": RELEASES}
_ELSEWHERE = {"run": "kind", "training": "further_steps", "epsilon": "delta"}
"""What the library calls by a name that is no control: the control that it is about."""


class Unclear(Exception):
    """Settings that describe no run: what is wrong, by the name of the control."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


class CertifyArguments(NamedTuple):
    """A run, its losses, and what is asked of them."""

    run: Run
    geometry: Geometry
    delta: float
    bounds: Bounds


@dataclass(frozen=True)
class Settings:
    """Texts by the name of their control: those that the run has, without the empty ones."""

    texts: tuple[tuple[str, str], ...]

    @staticmethod
    def of(values: Mapping[str, str | None]) -> Settings:
        """From what all controls show; those that the run does not have are left out.

        >>> Settings.of({"kind": "langevin", "steps": " 100 ", "n": "5", "delta": ""}).query
        'kind=langevin&adjacency=replace_one&steps=100&diameter=inf&bounds=best'
        """
        kind, sampling = values.get("kind") or "", values.get("sampling") or ""
        known = fields_of(kind, sampling) if kind in KINDS else tuple(FIELDS)
        texts = {name: (values.get(name) or "").strip() for name in known}
        if kind in ORDERS and texts["order"] and texts["order"] not in ORDERS[kind]:
            texts["order"] = "shuffled" if kind == "stream" else "shuffled_once"
        return Settings(_completed({name: text for name, text in texts.items() if text}))

    @staticmethod
    def first() -> Settings:
        """Those of a page that is opened without any."""
        return Settings.of({name: field.start for name, field in FIELDS.items()})

    @staticmethod
    def from_query(query: str) -> Settings:
        """From the part of an address behind `?`: what is foreign is kept, defaults are said.

        >>> Settings.from_query("?kind=exponential&sensitivity=2").query
        'kind=exponential&adjacency=replace_one&sensitivity=2&diameter=inf&bounds=best'
        """
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=False)
        texts = {name: text.strip() for name, text in pairs if text.strip()}
        if not texts:
            return Settings.first()
        return Settings(_completed(texts))

    @property
    def query(self) -> str:
        """For the address of the page. The inverse of `from_query`."""
        return urlencode(self.texts)

    @property
    def by_name(self) -> dict[str, str]:
        return dict(self.texts)

    @property
    def kind(self) -> str:
        """The kind of run, or the first there is where none such is known."""
        return _kind(self.by_name)

    @property
    def shown(self) -> tuple[str, ...]:
        """The controls that the run has."""
        return fields_of(self.kind, self.by_name.get("sampling", ""))

    def values(self) -> dict[str, Any]:
        """The texts as numbers and words; `Unclear` names each that is neither."""
        found: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name, text in self.texts:
            if name not in self.shown:
                field = FIELDS.get(name)
                said = f"{field.label} ({name})" if field else f"{name!r}"
                problems[name] = f"{said} is not asked of {self.kind}; leave it out"
            elif FIELDS[name].words:
                words = ORDERS[self.kind] if name == "order" else FIELDS[name].words
                found[name] = text
                if text not in words:
                    problems[name] = f"{name}={text!r} is unknown; give one of {', '.join(words)}"
            else:
                try:
                    found[name] = _CONVERTED.get(name, NUMBER).convert(text, None, None)
                except click.UsageError as error:
                    why = error.message.removeprefix(f"{shown(text)}: ")
                    problems[name] = f"{name}={text} {why}"
        for name in needed_of(self.kind, self.by_name.get("sampling", "")):
            if name not in self.by_name:
                problems[name] = f"{name} is missing; give a number"
        if problems:
            raise Unclear(problems)
        return found

    def asked(self) -> CertifyArguments:
        """The run that is described; `Unclear` where the library refuses it."""
        values = self.values()
        import shiftdp.last_iterate as rooms

        bounds, delta = values.get("bounds", "best"), values["delta"]
        losses = {name: values[name] for name in GEOMETRY.fields if name in values}
        losses.setdefault("smoothness", math.inf)  # which the exponential mechanism does not ask
        fields = {name: values[name] for name in KINDS[self.kind].fields if name in values}
        try:
            run = getattr(rooms, KINDS[self.kind].type)(**fields)
            if "further_steps" in values:
                deleted = {name: values[name] for name in ("further_steps", "records")}
                run = rooms.Unlearning(training=run, **deleted)
            return CertifyArguments(run, rooms.Geometry(**losses), delta, bounds)
        except InvalidInput as error:
            raise Unclear(self.problems_of(error)) from error

    def problems_of(self, error: Exception) -> dict[str, str]:
        """What the library refuses, at the controls that it is about; all else at the algorithm."""
        if not isinstance(error, InvalidInput):
            return {"kind": str(error)}
        parts = error.name.replace("*", ",").split(",")
        names = [_ELSEWHERE.get(part.strip(), part.strip()) for part in parts]
        at = [name for name in names if name in self.shown]
        return dict.fromkeys(at or ["kind"], str(error))


def _kind(texts: Mapping[str, str]) -> str:
    kind = texts.get("kind", "")
    return kind if kind in KINDS else FIELDS["kind"].start


def _completed(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """With what was not said and has a default, in the order of the controls; strangers last."""
    known = fields_of(_kind(texts), texts.get("sampling", ""))
    whole = {name: text for name, text in UNSAID.items() if name in known} | dict(texts)
    order = {name: place for place, name in enumerate(FIELDS)}
    return tuple(sorted(whole.items(), key=lambda item: order.get(item[0], len(order))))
