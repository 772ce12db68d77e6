"""Files that a command must not write over: what it reads, what else it writes, and models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from shiftdp._errors import InvalidInput
from shiftdp.ui.refusals import READ, Refused, spelled, typed
from shiftdp.ui.types import InData, InFile, OutFile

_MODELS = (".shiftdp", ".skops")


class _Named(NamedTuple):
    """A file, and the parameter that names it."""

    parameter: click.Parameter
    path: str


def refuse_overwriting(ctx: click.Context) -> None:
    """Refuse a file to write that is read too, or written twice, or a model of before.

    A model is replaced by a model alone (`train --force`). What is no ordinary file, as
    `/dev/stdout`, may be named as often as one likes.
    """
    seen = list(_read(ctx))
    for parameter in ctx.command.params:
        path = ctx.params.get(parameter.name or "")
        if not isinstance(parameter.type, OutFile) or not isinstance(path, str):
            continue
        if os.path.exists(path) and not os.path.isfile(path):
            continue
        subject = typed(ctx, parameter.name or "", path)
        for other in seen:
            if _same(path, other.path):
                problem = f"is the file of {spelled(other.parameter)} too, and would replace it"
                raise Refused(f"{subject}: {problem}; give another name", ctx)
        ending = os.path.splitext(path)[1].lower()
        if "shiftdp" not in parameter.type.suffixes and ending in _MODELS and os.path.isfile(path):
            problem = "is there already, and by its name a model, which would be lost"
            raise Refused(f"{subject}: {problem}; give another name", ctx)
        seen.append(_Named(parameter, path))


def _read(ctx: click.Context) -> Iterator[_Named]:
    """The files that are read; of a folder those that are parts of its table."""
    tables = ctx.meta.get(READ, {})
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if isinstance(parameter.type, (InFile, InData)):
            given = ctx.params.get(name) or ()
            for path in (given,) if isinstance(given, str) else given:
                for part in _parts(path):
                    yield _Named(parameter, part)
        elif name in tables:
            yield _Named(parameter, tables[name])


def _parts(path: str) -> Sequence[str]:
    if not os.path.isdir(path):
        return [path]
    from shiftdp.training.table_files.parts import parts_of

    try:
        return parts_of([path])
    except InvalidInput:  # the command says what is wrong with the folder
        return []


def _same(one: str, other: str) -> bool:
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))
