"""Code that is copied gives the number of the page."""

from __future__ import annotations

import contextlib
import io
import json
import shlex

import pytest

from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.code import as_command, as_python
from tests.ui.explorer.examples import RUNS, SMALL, settings
from tests.ui.shell import shiftdp


@pytest.mark.parametrize("name", RUNS)
def test_python_prints_epsilon(name: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(as_python(RUNS[name]), name, "exec"), {})
    assert float(printed.getvalue()) == certified(RUNS[name].asked()).epsilon


@pytest.mark.parametrize("name", RUNS)
def test_the_command_prints_epsilon(name: str) -> None:
    words = shlex.split(as_command(RUNS[name]).replace("\\\n", " "))
    assert words[0] == "shiftdp"
    result = shiftdp(*words[1:], "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["epsilon"] == certified(RUNS[name].asked()).epsilon


def test_a_deletion_by_fewer_theorems_has_no_command() -> None:
    text = as_command(settings(**SMALL, further_steps="8", bounds="composition"))
    assert text.startswith("# ")


def test_a_tilde_or_a_space_cannot_leave_its_word() -> None:
    command = as_command(settings(releases="$(reboot)"))
    assert "'$(reboot)'" in command
