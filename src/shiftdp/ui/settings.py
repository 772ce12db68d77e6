"""From options to what is certified: a run and its losses, or a certificate that was saved."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shiftdp.ui.options import GEOMETRY, KINDS, MEANINGS, needed
from shiftdp.ui.refusals import Missing, Refused, typed
from shiftdp.ui.types import Word

if TYPE_CHECKING:
    from shiftdp.last_iterate import Geometry
    from shiftdp.last_iterate.runs import Run
    from shiftdp.privacy.selection.kinds import AnyCertificate
    from shiftdp.privacy.statement import Statement
    from shiftdp.training.model_file import ModelFile
    from shiftdp.ui.types import CoolDown

_READS = "give a certificate that --save wrote, or a model that `shiftdp train` wrote"
SHAPES = {"placed_noise": ("gd", "cgd"), "cooldown": ("sgd",)}
"""Schedules of noise that are calibrated as a whole, and the kinds of runs that have them."""

_KINDS = ", ".join(f"{name} ({kind.summary})" for name, kind in KINDS.items())


def setting_of(
    ctx: click.Context, options: Mapping[str, Any], fallback: Mapping[str, Any] | None = None
) -> tuple[Run, Geometry]:
    """The run and the losses that the options describe.

    Args:
        ctx: of the command, for messages.
        options: by name.
        fallback: what to take for an option that may be left out.
    """
    kind = require_kind(ctx, options)
    options = overridden(ctx, options, ("epochs", "steps"))
    if options.get("sampling") == "random_allocation" and options.get("adjacency") != "zero_out":
        subject = typed(ctx, "adjacency", options.get("adjacency") or "replace_one")
        problem = "does not fit random allocation, whose theorems compare a record with nothing"
        remedy = "give --adjacency zero_out, with the largest norm of one gradient as --sensitivity"
        raise Refused(f"{subject}: {problem}; {remedy}", ctx)
    options = with_multiplier(ctx, kind, overridden(ctx, options, ("noise", "noise_multiplier")))
    _refuse_foreign(ctx, kind, options)
    options = _with_sensitivity(kind, options)
    fallback = dict(fallback or {})
    if kind == "exponential":
        fallback.setdefault("smoothness", math.inf)
    fields = (*KINDS[kind].fields, *GEOMETRY.fields)
    if options.get("steps") is not None:
        fallback.pop("epochs", None)
    given = {name: options[name] for name in fields if options.get(name) is not None}
    values = {**{name: fallback[name] for name in fields if name in fallback}, **given}
    _require_all(ctx, kind, values, given)

    import shiftdp.last_iterate as rooms

    cooled = options.get("cooldown")
    if cooled is not None and "noise" not in KINDS[kind].fields:
        raise Refused(
            f"--cooldown {cooled}: {kind} has no noise of its own to raise; leave it out", ctx
        )
    run = getattr(rooms, KINDS[kind].type)(**_part(values, KINDS[kind].fields))
    if cooled is not None:
        run = _cooled(ctx, run, cooled)
    return run, rooms.Geometry(**_part(values, GEOMETRY.fields))


def with_multiplier(ctx: click.Context, kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options with the noise that a noise multiplier stands for.

    Opacus adds noise of deviation `multiplier * C` to a sum of gradients that are clipped to C, and
    divides by the batch size b: noise = multiplier C / b on the mean. Rounded down, the private
    side.
    """
    multiplier = options.get("noise_multiplier")
    if multiplier is None:
        return options
    subject = typed(ctx, "noise_multiplier", multiplier)
    if options.get("noise") is not None:
        raise Refused(f"{subject}: --noise is given too; give one of them", ctx)
    if "noise" not in KINDS[kind].fields:
        raise Refused(f"{subject}: {kind} has no noise of its own; leave it out", ctx)
    size = options.get("batch_size" if "batch_size" in KINDS[kind].fields else "n")
    clip = options.get("gradient_bound")
    if clip is None and options.get("adjacency") == "zero_out":
        clip = options.get("sensitivity")
    if clip is None:
        remedy = "give it as --gradient-bound, from which --sensitivity follows"
        raise Refused(f"{subject}: is in units of the clip, which is not given; {remedy}", ctx)
    if size is None:
        return options  # what is missing is named elsewhere
    many = multiplier if isinstance(multiplier, tuple) else (multiplier,)
    noise = tuple(noise_of_multiplier(one, clip, size) for one in many)
    return {**options, "noise": noise if isinstance(multiplier, tuple) else noise[0]}


def _with_sensitivity(kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options with the sensitivity that follows from a bound on gradients, if none is given.

    Two gradients of norm at most G are at most 2 G apart, and one is at most G from 0.
    """
    bound = options.get("gradient_bound")
    if bound is None or options.get("sensitivity") is not None or "noise" not in KINDS[kind].fields:
        return options
    return {
        **options,
        "sensitivity": bound if options.get("adjacency") == "zero_out" else 2 * bound,
    }


def noise_of_multiplier(multiplier: float, clip: float, size: float) -> float:
    """multiplier * clip / size, rounded down; what is no positive number is refused elsewhere.

    >>> noise_of_multiplier(1.5, 1.0, 4), noise_of_multiplier(1.0, 1.0, 10) < 0.1
    (0.375, True)
    """
    from fractions import Fraction

    if not all(0.0 < one < math.inf for one in (multiplier, clip, size)):
        return float(multiplier)
    exact = Fraction(multiplier) * Fraction(clip) / Fraction(size)
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)


def _cooled(ctx: click.Context, run: Run, block: CoolDown) -> Run:
    """The run with more noise in its last steps, or those of each window of a stream."""
    length = run.window.steps
    if not block.last <= length < math.inf:
        steps = "no last step" if math.isinf(length) else f"{length} steps"
        raise Refused(
            f"--cooldown {block}: the run has {steps}; give a part of a number of steps", ctx
        )
    from shiftdp.last_iterate import cooldown

    noise = cooldown(length, run.noise, last=block.last, factor=block.factor)  # type: ignore[union-attr]
    return type(run)(**{**vars(run), "noise": noise})


def certificate_of(ctx: click.Context, options: Mapping[str, Any]) -> AnyCertificate:
    """The certificate of the run that is described, or the one in the file, which is verified."""
    path = options.get("certificate")
    if path is not None:
        refuse_described(ctx, options, "--certificate")
        return read_certificate(path)
    setting = setting_of(ctx, options)
    from shiftdp.last_iterate import certify

    return certify(
        *setting,
        bounds=options["bounds"],
        delta=options["delta"],
        accuracy=options.get("accuracy"),
    )


def overridden(
    ctx: click.Context, options: Mapping[str, Any], rivals: Sequence[str]
) -> dict[str, Any]:
    """The options; of rivals, such as epochs and steps, the command line overrules the file."""
    typed_in = [name for name in rivals if options.get(name) is not None and _typed(ctx, name)]
    void = [name for name in rivals if typed_in and name not in typed_in]
    return {
        name: None if name in void and not _typed(ctx, name) else value
        for name, value in options.items()
    }


def refuse_described(
    ctx: click.Context, options: Mapping[str, Any], source: str, but: Sequence[str] = ()
) -> None:
    """Refuse what describes a run where the guarantee comes from elsewhere: it would be ignored."""
    described = (*MEANINGS, "cooldown", "noise_multiplier", "kind")
    given = [name for name in described if options.get(name) is not None]
    if options.get("bounds") is not None and _typed(ctx, "bounds"):
        given.append("bounds")
    for name in given:
        if name not in but:
            subject = typed(ctx, name, options[name])
            raise Refused(f"{subject}: is not used with {source}; leave it out", ctx)


def _typed(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def read_certificate(path: str) -> AnyCertificate:
    """A certificate from its own file or that of a model, verified.

    Of a pipeline it is the certificate of all of its steps: the model's alone would leave out what
    its preparation learnt.
    """
    from shiftdp._errors import InvalidInput, VerificationFailed
    from shiftdp.privacy.selection.kinds import certificate_in, only_in_python

    if is_archive(path):
        found = read_model_file(path)
        found.whole.verify()
        for step in found.learnt:
            text = f"warning: not covered: what the step {step} learnt from its data"
            click.echo(text, err=True)
        return found.whole
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        unknown = only_in_python(text)
        if unknown is not None:
            raise VerificationFailed(f"{path}: {unknown}")
        certificate = certificate_in(text)
    except InvalidInput as error:
        raise InvalidInput("certificate", path, error.problem, _READS) from error
    except UnicodeDecodeError as error:
        raise InvalidInput("certificate", path, "is not text", _READS) from error
    try:
        certificate.verify()
    except VerificationFailed as error:
        problem = f"{path}: the proof in it does not hold, so it was changed or is damaged: {error}"
        raise VerificationFailed(problem) from error
    return certificate


def is_statement_file(path: str) -> bool:
    """Whether it is a page: no certificate begins as these do."""
    with open(path, "rb") as file:
        return file.read(200).removeprefix(BOM_UTF8).lstrip()[:9].lower() == b"<!doctype"


def read_statement_file(path: str, *, compare: bool = True) -> Statement:
    """A statement whose certificate holds and whose print is what it says."""
    from shiftdp._errors import InvalidInput
    from shiftdp.privacy.statement import read_statement
    from shiftdp.privacy.statement.page import LARGEST

    try:
        with open(path, encoding="utf-8", newline="") as file:
            return read_statement(file.read(2 * LARGEST), compare=compare)  # ends of lines too
    except InvalidInput as error:
        raise InvalidInput("certificate", path, error.problem, error.remedy) from error
    except UnicodeDecodeError as error:
        raise InvalidInput("certificate", path, "is not text", "give a statement") from error


def is_archive(path: str) -> bool:
    """Whether it is a model file: no certificate begins as archives do."""
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def read_model_file(path: str, name: str = "certificate") -> ModelFile:
    """A model file whose digest holds and whose certificate is that of its plan.

    Args:
        path: of the file.
        name: of the parameter that names it, for messages.
    """
    from shiftdp._errors import InvalidInput
    from shiftdp.training.descent.entropy import MissingPackage

    try:
        from shiftdp.training.model_file import read_model

        return read_model(path)
    except MissingPackage as error:
        raise click.ClickException(str(error)) from None
    except InvalidInput as error:
        remedy = error.remedy.replace("save_model", "`shiftdp train` or save_model")
        raise InvalidInput(name, path, error.problem, remedy) from error


class Parameter(Word):
    """What to calibrate, or to change along a frontier; a KIND in its place is told of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in KINDS and value not in self.choices:
            names = ", ".join(parameters_of_kind(value, self.choices))
            path = "" if ctx is None else f"{ctx.command_path} "
            raise Refused(
                f"PARAMETER: is missing before {value}; give one of {names}, as in `{path}"
                f"{names.partition(',')[0]} {value} ...`",
                ctx,
            )
        return super().convert(value, param, ctx)


def parameters_of_kind(kind: str, known: Iterable[str]) -> list[str]:
    """Those of some parameters that a run of this kind has, or its losses.

    >>> parameters_of_kind("gd", ["noise", "epochs", "steps", "batch_size", "diameter"])
    ['noise', 'steps', 'diameter']
    """
    own = (*KINDS[kind].fields, *GEOMETRY.fields)
    return [name for name in known if name in own or kind in SHAPES.get(name, ())]


def require_parameter(ctx: click.Context, options: Mapping[str, Any], known: Iterable[str]) -> str:
    """The argument PARAMETER: what to calibrate, or to change along a frontier."""
    parameter: str | None = options["parameter"]
    if parameter is not None:
        return parameter
    kind = options.get("kind")
    names = ", ".join(known if kind is None else parameters_of_kind(kind, known))
    if kind is not None or any(options.get(name) is not None for name in MEANINGS):
        raise Refused(f"PARAMETER: is missing; give one of {names}", ctx)
    raise Missing(_needs(ctx, [("PARAMETER", names)]), ctx)


def require_kind(ctx: click.Context, options: Mapping[str, Any]) -> str:
    kind: str | None = options.get("kind")
    if kind is not None:
        return kind
    if any(options.get(name) is not None for name in MEANINGS):
        raise Refused(f"KIND: is missing; give {_KINDS}", ctx)
    raise Missing(_needs(ctx), ctx)


def _needs(ctx: click.Context, first: Sequence[tuple[str, str]] = ()) -> list[str]:
    rows = [*first, ("KIND", _KINDS), *_meanings(needed("cgd"))]
    return [f"{ctx.command_path} needs, if batches are used in turn:", *_lines(rows)]


def _refuse_foreign(ctx: click.Context, kind: str, options: Mapping[str, Any]) -> None:
    own = (*KINDS[kind].fields, *GEOMETRY.fields)
    for name in MEANINGS:
        if name not in own and options.get(name) is not None:
            wanted = ", ".join(_flags(KINDS[kind].fields)) or "none of these"
            subject = typed(ctx, name, options[name])
            raise Refused(f"{subject}: is no option of {kind}, which has {wanted}", ctx)


def _require_all(
    ctx: click.Context, kind: str, values: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    missing = [name for name in needed(kind, tuple(values)) if name not in values]
    if not missing:
        return
    if not given:
        raise Missing([f"{ctx.command_path} {kind} needs:", *_lines(_meanings(missing))], ctx)
    verb = "is" if len(missing) == 1 else "are"
    path = ctx.command_path
    raise Refused(f"{', '.join(_flags(missing))}: {verb} missing; see {path} --help", ctx)


def _meanings(names: Iterable[str]) -> list[tuple[str, str]]:
    names = tuple(names)
    return [(flag, MEANINGS[name]) for name, flag in zip(names, _flags(names), strict=True)]


def _lines(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {meaning}" for name, meaning in rows]


def _flags(names: Iterable[str]) -> list[str]:
    return ["--" + name.replace("_", "-") for name in names]


def _part(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
