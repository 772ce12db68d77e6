"""The options that describe a run: named as the fields of the classes in `shiftdp.last_iterate`.

The tables here say which option belongs to which kind of run without loading those classes;
tests/ui/test_options.py holds them to it. A TOML file may give any of them, by the same names; the
command line comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from shiftdp.ui.group import Option
from shiftdp.ui.refusals import Refused
from shiftdp.ui.schedule_files import PER_STEP
from shiftdp.ui.types import (
    COOLDOWN,
    IMAGE,
    NUMBER,
    NUMBERS,
    RELEASES,
    InFile,
    OutFile,
    ParamType,
    Word,
)

SAMPLINGS = ("without_replacement", "poisson", "random_allocation")
IN_EPOCHS = ("random_allocation",)  # samplings of these that are counted in epochs

AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])

RUN, LOSSES, ANSWER, BUDGET = (
    "What is run",
    "What is assumed of the losses",
    "The answer",
    "The budget, exactly one of",
)


class Kind(NamedTuple):
    """A kind of run: its class, what it needs, and what else it has."""

    type: str
    summary: str
    needs: tuple[str, ...]
    has: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        return self.needs + self.has


KINDS = {
    "gd": Kind(
        "NoisyGD",
        "full batches",
        ("n", "steps", "learning_rate", "noise"),
        ("releases", "records_per_person"),
    ),
    "cgd": Kind(
        "NoisyCGD",
        "batches in turn",
        ("n", "batch_size", "epochs", "learning_rate", "noise"),
        ("steps", "order", "last_batch", "releases", "records_per_person", "arrangement"),
    ),
    "sgd": Kind(
        "NoisySGD",
        "random batches",
        ("n", "batch_size", "steps", "learning_rate", "noise"),
        ("epochs", "sampling", "batch_cap", "releases", "records_per_person"),
    ),
    "stream": Kind(
        "NoisyStream",
        "records that are used once",
        ("batch_size", "batches_per_release", "learning_rate", "noise"),
        ("order",),
    ),
    "langevin": Kind("LangevinMC", "Langevin Monte Carlo", ("steps", "learning_rate")),
    "exponential": Kind("ExponentialMechanism", "one draw from exp(-F)", ()),
}
GEOMETRY = Kind(
    "Geometry",
    "",
    ("strong_convexity", "smoothness", "sensitivity"),
    ("gradient_bound", "diameter", "adjacency", "prox_convexity"),
)
BOUNDS = ("best", "paper", "composition")

_TYPES: dict[str, ParamType] = {
    "n": NUMBER,
    "batch_size": NUMBER,
    "batches_per_release": NUMBER,
    "epochs": NUMBER,
    "steps": NUMBER,
    "learning_rate": PER_STEP,
    "noise": PER_STEP,
    "order": Word(("fixed", "shuffled_once", "reshuffled", "shuffled")),
    "last_batch": Word(("own_size", "divide_by_b", "drop")),
    "sampling": Word(SAMPLINGS),
    "batch_cap": NUMBER,
    "records_per_person": NUMBER,
    "arrangement": Word(("anywhere", "one_per_batch")),
    "releases": RELEASES,
    "strong_convexity": NUMBER,
    "smoothness": NUMBER,
    "sensitivity": NUMBER,
    "gradient_bound": NUMBER,
    "diameter": NUMBER,
    "adjacency": Word(("replace_one", "zero_out")),
    "prox_convexity": NUMBER,
}
MEANINGS = {
    "n": "how many records there are",
    "batch_size": "how many records a batch has (cgd, sgd, stream)",
    "batches_per_release": "after how many batches an iterate is released (stream)",
    "epochs": "how often all records are used; inf is allowed (cgd; sgd with random_allocation)",
    "steps": "how many steps are made; inf is allowed (gd, sgd, langevin; cgd instead of epochs)",
    "learning_rate": "the step size; one number, or one a step (gd, cgd, sgd; of a window for "
    "stream), also as a CSV file; langevin takes one number",
    "noise": "standard deviation of the noise on the mean gradient; one number, or one a step, "
    "also as a CSV file",
    "order": "of the batches (cgd), or fixed or shuffled within each window (stream); fixed by "
    "default",
    "last_batch": "a smaller last batch is a mean over its own_size, or its sum is divided by the "
    "batch size (divide_by_b), or it is not used (drop) (cgd); own_size by default",
    "sampling": "of the batches (sgd); without_replacement by default",
    "batch_cap": "the largest batch that the proof covers (sgd with poisson or random_allocation); "
    "chosen by default",
    "records_per_person": "how many records one person may have, who is protected as a whole (gd, "
    "cgd, sgd); 1 by default",
    "arrangement": "where these may be (cgd); anywhere by default",
    "releases": "which iterates are released beside the last one: all, epochs (that at the end of "
    "each), or steps with commas between them (gd, cgd, sgd)",
    "strong_convexity": "m; 0 for convex losses, negative for weakly convex ones",
    "smoothness": "M; inf where nothing is known",
    "sensitivity": "L, the largest distance between the two gradients that are compared",
    "gradient_bound": "G, the largest norm of one record's gradient (needed by sgd with poisson "
    "and replace_one)",
    "diameter": "D, of the set that iterates are projected onto; inf by default",
    "adjacency": "which data sets are neighbours; replace_one by default",
    "prox_convexity": "strong convexity of a prox that each step ends with; 0 by default",
}


def option(name: str, **settings: Any) -> Callable[[AnyCallable], AnyCallable]:
    """An option with the spelling of a Python name: `learning_rate` is `--learning-rate`."""
    flag = "--" + name.replace("_", "-")
    spelling = f"{flag}/--no-{flag[2:]}" if settings.pop("switch", False) else flag
    short = [settings.pop("short")] if "short" in settings else []
    return click.option(*short, spelling, name, cls=Option, **settings)


def option_group(heading: str, **named: Mapping[str, Any]) -> Callable[[AnyCallable], AnyCallable]:
    """Several options under one heading of the help."""

    def decorate(function: AnyCallable) -> AnyCallable:
        for name, settings in reversed(named.items()):
            function = option(name, heading=heading, **settings)(function)
        return function

    return decorate


def run_options(function: AnyCallable) -> AnyCallable:
    """KIND, everything that describes a run and its losses, and `--config`."""
    described: dict[str, dict[str, Any]] = {
        name: {"type": kind, "help": _sentence(MEANINGS[name])} for name, kind in _TYPES.items()
    }
    losses = {name: described.pop(name) for name in GEOMETRY.fields}
    described["cooldown"] = {
        "type": COOLDOWN,
        "metavar": "LAST:FACTOR",
        "help": "FACTOR times the noise in the LAST steps (gd, cgd, sgd): of all schedules with as "
        "much noise in all, the one that costs least.",
    }
    described["noise_multiplier"] = {
        "type": NUMBERS,
        "help": "Instead of --noise, as in Opacus: the deviation of the noise on the sum of "
        "clipped gradients, in units of the clip. The noise on the mean is this times the clip / "
        "batch size (n for gd); the clip is --gradient-bound, or --sensitivity with zero_out.",
    }
    function = config_option(
        option_group(RUN, **described)(option_group(LOSSES, **losses)(function))
    )
    return click.argument("kind", type=Word(tuple(KINDS)), required=False, metavar="[KIND]")(
        function
    )


def _sentence(meaning: str) -> str:
    symbol = meaning[1] in ";,"  # m is not M
    return f"{meaning if symbol else meaning[0].upper() + meaning[1:]}."


certificate_option = option_group(
    RUN,
    certificate={
        "type": InFile(),
        "help": "Instead of a run: a certificate that --save wrote. It is verified first.",
    },
)


def budget_options(function: AnyCallable) -> AnyCallable:
    """What a run may cost; `order` of the library is `--renyi-order` here, beside `--order`."""
    helps = {
        "epsilon": "Epsilon at --delta (1e-5 by default).",
        "mu": "The GDP parameter.",
        "renyi": "The Renyi divergence of --renyi-order.",
        "advantage": "The most by which true positives may exceed false ones.",
        "tpr": "The most true positives at --fpr.",
    }
    measured = {"delta": "epsilon", "renyi_order": "renyi", "fpr": "tpr"}
    at = {name: {"type": NUMBER, "help": f"For --{of}."} for name, of in measured.items()}
    limits = {name: {"type": NUMBER, "help": text} for name, text in helps.items()}
    return option_group(BUDGET, **limits)(option_group("Measured at", **at)(function))


_ANSWERS: dict[str, dict[str, Any]] = {
    "delta": {"type": NUMBER, "default": 1e-5, "help": "Where epsilon is read."},
    "bounds": {"type": Word(BOUNDS), "default": "best", "help": "Which theorems may be used."},
    "accuracy": {
        "type": NUMBER,
        "help": "How far epsilon may be above its exact value (sgd); about 1e-3 if not given.",
    },
    "explain": {
        "is_flag": True,
        "help": "Which hypotheses, which theorem, and what the others would say.",
    },
    "save": {"type": OutFile(), "help": "Write the certificate to this file, as JSON."},
    "plot": {"type": IMAGE, "help": "Draw it; .png, .svg or .pdf. Needs the extra `plot`."},
    "csv": {"type": OutFile(), "help": "Write the numbers to this file, as CSV."},
    "json": {"is_flag": True, "help": "Print one JSON object and nothing else."},
}


def answer_options(*wanted: str) -> Callable[[AnyCallable], AnyCallable]:
    """Some of the options that shape the answer; `--json` is always one."""
    return option_group(ANSWER, **{name: _ANSWERS[name] for name in (*wanted, "json")})


def needed(kind: str, given: Sequence[str] = ()) -> tuple[str, ...]:
    """What a run of this kind cannot do without."""
    needs = [*KINDS[kind].needs, *GEOMETRY.needs]
    if kind == "cgd" and "steps" in given:
        needs.remove("epochs")
    if kind == "sgd" and "epochs" in given:
        needs.remove("steps")
    if kind == "exponential":
        needs.remove("smoothness")
    return tuple(needs)


def config_option(function: AnyCallable) -> AnyCallable:
    """`--config FILE`, read before all other options."""
    return click.option(
        "--config",
        type=InFile(),
        is_eager=True,
        cls=Option,
        heading="What is run",
        callback=_load,
        help='Read options from this TOML file: kind = "cgd", learning_rate = 0.05, ... The '
        "command line comes first.",
    )(function)


def _load(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        ctx.params["config"] = value  # for messages about the others
        ctx.default_map = read_config(ctx, value)
    return value


def read_config(ctx: click.Context, path: str) -> dict[str, Any]:
    """The options in a file; a key that is no option of the command is refused by name."""
    import tomllib

    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"--config {path}: is not TOML: {error}", ctx) from error
    known = [name for name in (p.name for p in ctx.command.params) if name and name != "config"]
    for key, value in found.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(key.replace("-", "_"), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise Refused(f"--config {path}: {key} is no option of {ctx.info_name}; {hint}", ctx)
        if isinstance(value, dict):
            raise Refused(f"--config {path}: {key} is a table; give its value", ctx)
    return found
