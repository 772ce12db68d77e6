"""`--config`: the same names in a file, and the command line comes first."""

from pathlib import Path

import pytest

from tests.ui.shell import CONFIG, MNIST, refused, said


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
