"""The command line speaks the language of the library: names, choices and kinds agree."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import get_args

import click
import pytest

import shiftdp.last_iterate
import shiftdp.privacy
from shiftdp.last_iterate import Geometry
from shiftdp.last_iterate.certification import Bounds, certify
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, Order, Run, Sampling, StreamOrder
from shiftdp.privacy import calibration
from shiftdp.privacy.attack_risk import risk
from shiftdp.privacy.budget import BudgetKeywords, Measure
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.parameter_sweep import CURVES as LIBRARY_CURVES
from shiftdp.privacy.parameters import parameters_of
from shiftdp.ui.commands import account, calibrate, frontier, ledger
from shiftdp.ui.commands import risk as risk_command
from shiftdp.ui.main import program
from shiftdp.ui.options import BOUNDS, GEOMETRY, KINDS, MEANINGS
from shiftdp.ui.types import Word
from tests.ui.shell import CONFIG, MNIST, refused, said


def named(command: click.Command) -> dict[str, click.Parameter]:
    return {parameter.name: parameter for parameter in command.params if parameter.name}


def words(command: click.Command, name: str) -> tuple[str, ...]:
    kind = named(command)[name].type
    assert isinstance(kind, Word)
    return tuple(kind.choices)


def keywords(function: object) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_each_kind_has_the_parameters_of_its_class(kind: object) -> None:
    assert isinstance(kind, type(KINDS["gd"]))
    cls = getattr(shiftdp.last_iterate, kind.type)
    assert set(kind.fields) == keywords(cls)
    signature = inspect.signature(cls).parameters
    needed = {name for name, one in signature.items() if one.default is inspect.Parameter.empty}
    # epochs or steps: the class takes either, and says so itself
    either = {"epochs", "steps"} if "epochs" in kind.fields else set()
    assert set(kind.needs) - either == needed


def test_there_is_a_kind_for_each_run() -> None:
    # a deletion is described by its training and `shiftdp unlearn`
    described = {cls.__name__ for cls in get_args(Run)} - {"Unlearning"}
    assert {kind.type for kind in KINDS.values()} == described


def test_the_geometry_is_that_of_the_library() -> None:
    assert set(GEOMETRY.fields) == {field.name for field in fields(Geometry)}
    assert set(MEANINGS) == {name for kind in KINDS.values() for name in kind.fields} | set(
        GEOMETRY.fields
    )


def test_options_are_spelled_like_names() -> None:
    for name in program.summaries:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for one in commands:
            for parameter in one.params:
                if isinstance(parameter, click.Option):
                    # a letter may stand beside the name, never instead of it
                    long = [option for option in parameter.opts if option.startswith("--")]
                    assert long == ["--" + str(parameter.name).replace("_", "-")]


def test_choices_are_those_of_the_library() -> None:
    assert words(account.command, "order") == tuple(
        dict.fromkeys((*get_args(Order), *get_args(StreamOrder)))
    )
    assert words(account.command, "sampling") == get_args(Sampling)
    assert words(account.command, "adjacency") == get_args(Adjacency)
    assert words(account.command, "bounds") == BOUNDS == get_args(Bounds)


def test_account_has_the_keywords_of_certify() -> None:
    assert keywords(certify) - {"run", "geometry", "theorems"} <= set(named(account.command))


def test_everything_that_can_be_calibrated_is() -> None:
    assert set(calibrate.TARGETS) == set(calibration.CALIBRATORS)
    budget = set(BudgetKeywords.__annotations__) - {"order"} | {"renyi_order"}
    assert budget <= set(named(calibrate.command))
    assert set(get_args(Measure)) <= budget


def test_frontier_has_the_parameters_and_curves_of_the_library() -> None:
    assert tuple(frontier.CURVES.values()) == LIBRARY_CURVES
    geometry = Geometry(strong_convexity=0, smoothness=1, sensitivity=1)
    runs = (
        NoisyGD(n=2, steps=2, learning_rate=0.1, noise=1),
        NoisyCGD(n=2, batch_size=1, epochs=2, learning_rate=0.1, noise=1),
        shiftdp.NoisySGD(n=2, batch_size=1, steps=2, learning_rate=0.1, noise=1),
        shiftdp.NoisyStream(batch_size=1, batches_per_release=2, learning_rate=0.1, noise=1),
    )
    known = {name for run in runs for name in parameters_of(run, geometry)}
    assert set(frontier.PARAMETERS) == known
    own = {"run", "geometry", "theorems", "progress"}
    assert keywords(shiftdp.privacy.frontier) - own <= set(named(frontier.command))


def test_ledger_and_risk_have_the_keywords_of_the_library() -> None:
    assert keywords(Ledger.create) - {"path", "timeout"} <= set(named(ledger.create))
    assert keywords(Ledger.reserve) - {"timeout"} <= set(named(ledger.charge))
    assert keywords(risk) - {"guarantee"} <= set(named(risk_command.command))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG)
    return path


def test_a_file_is_the_same_as_options(config: Path) -> None:
    assert said(f"account --config {config} --json") == said(f"account {MNIST} --json")


def test_the_command_line_comes_first(config: Path) -> None:
    found = said(f"account --config {config} --noise 0.02 --order reshuffled --json")
    assert found["run"]["noise"] == 0.02
    assert found["run"]["order"] == "reshuffled"
    assert said(f"account --noise 0.02 --config {config} --order reshuffled --json") == found


def test_steps_on_the_command_line_replace_epochs_in_the_file(config: Path) -> None:
    assert said(f"account --config {config} --steps 7 --json")["run"]["steps"] == 7
    config.write_text(CONFIG + "steps = 7\n")
    assert refused(f"account --config {config}").startswith("--epochs, --steps: are not one")


def test_a_budget_on_the_command_line_replaces_that_in_the_file(config: Path) -> None:
    config.write_text(CONFIG + 'parameter = "noise"\nepsilon = 1.0\n')
    assert said(f"calibrate --config {config} --json")["budget"] == {"epsilon": 1.0, "delta": 1e-5}
    assert said(f"calibrate --config {config} --mu 1 --json")["budget"] == {"mu": 1}


def test_lists_are_one_number_a_step(config: Path) -> None:
    config.write_text(
        'kind = "gd"\nn = 50\nsteps = 3\nlearning_rate = [0.1, 0.05, 0.02]\nnoise = 0.3\n'
        "strong_convexity = 0\nsmoothness = 10\nsensitivity = 1\ndiameter = inf\njson = true\n"
    )
    found = said(f"account --config {config}")
    assert found["run"]["learning_rate"] == [0.1, 0.05, 0.02]
    assert found["geometry"]["diameter"] == "inf"


def test_values_of_a_frontier(config: Path) -> None:
    config.write_text(CONFIG + 'parameter = "epochs"\nvalues = [1, 2, inf]\ncurves = ["best"]\n')
    found = said(f"frontier --config {config} --json")
    assert found["values"] == [1.0, 2.0, "inf"]
    assert [curve["name"] for curve in found["curves"]] == ["best"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lerning_rate = 0.1", "lerning_rate is no option of account; did you mean learning_rate?"),
        (
            "learning-rate = 0.1",
            "learning-rate is no option of account; did you mean learning_rate",
        ),
        ("xyz = 1", "xyz is no option of account; there are kind, n, batch_size"),
        ("config = 'a.toml'", "config is no option of account; "),
        ("[run]\nn = 3", "run is no option of account; "),
        ("[n]\nvalue = 3", "n is a table; give its value"),
        ("n = = 3", "is not TOML: "),
    ],
)
def test_unknown_keys_and_damaged_files_are_refused(config: Path, text: str, message: str) -> None:
    config.write_text(text)
    assert refused(f"account --config {config}").startswith(f"--config {config}: {message}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("noise = 0.01", 'noise = "much"', "noise = much: is not a number, or several"),
        ("noise = 0.01", "noise = true", "noise = True: is not a number"),
        ("n = 60_000", "n = [1, 2]", "n = 1,2: is not a number"),
        ('kind = "cgd"', 'kind = "cdg"', "kind = cdg: is not one of gd, cgd"),
        ("epochs = 50", "epochs = -1", "epochs = -1: is below 1"),
    ],
)
def test_bad_values_are_named_with_the_file(config: Path, old: str, new: str, message: str) -> None:
    config.write_text(CONFIG.replace(old, new))
    assert refused(f"account --config {config}").startswith(f"{config}: {message}")


def test_a_file_that_is_nested_without_end_is_refused(config: Path) -> None:
    """Found by fuzzing: the reader of TOML ran out of stack."""
    config.write_text("noise = " + "[" * 5_000 + "]" * 5_000)
    assert refused(f"account --config {config}").startswith(f"--config {config}: is not TOML")
