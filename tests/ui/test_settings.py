"""From options to a run or a saved certificate: the same guarantee, and nothing that is ignored."""

import json
from pathlib import Path

import pytest

from tests.ui.shell import MNIST, prose, refused, said, shiftdp


def test_a_saved_certificate_is_the_same_certificate(tmp_path: Path) -> None:
    path = str(tmp_path / "run.json")
    first = said(f"account {MNIST} --order reshuffled --save {path} --json")
    assert said(f"account --certificate {path} --json") == first
    verified = said(f"verify {path} --json")
    assert verified["verified"] is True
    assert verified["epsilon"] == first["epsilon"]
    assert "provided that\n  - losses: " in prose(f"verify {path}")


@pytest.mark.parametrize("command", ["account --certificate", "verify"])
def test_a_forged_certificate_fails(command: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    prose(f"account {MNIST} --save {path}")
    document = json.loads(path.read_text())
    document["run"]["noise"] *= 1.01
    path.write_text(json.dumps(document))
    result = shiftdp(f"{command} {path}")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_what_would_be_ignored_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    prose(f"account {MNIST} --save {path}")
    line = refused(f"account --certificate {path} --noise 1")
    assert line.startswith("--noise 1: is not used with --certificate")
    line = refused(f"account --certificate {path} --bounds paper")
    assert line.startswith("--bounds paper: is not used")
    assert refused(f"account cgd --certificate {path}").startswith("KIND cgd: is not used")


def test_the_first_try_is_answered_with_what_is_missing_and_an_example() -> None:
    for arguments, first in (("account", "KIND"), ("account gd", "--n")):
        result = shiftdp(arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        lines = result.stderr.partition("for example")[0].splitlines()
        assert lines[1].split()[0] == first
        for name in ("--n", "--learning-rate", "--noise", "--smoothness", "--sensitivity"):
            assert sum(line.split()[:1] == [name] for line in lines) == 1
        assert "  shiftdp account cgd --n 60000" in result.stderr
