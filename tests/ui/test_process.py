"""The program as a process: exit codes, streams, pipes, terminals and interruptions."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.ui.shell import MNIST, process

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "shiftdp"]


def test_the_script_is_this_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["shiftdp"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_one_json_object_and_nothing_else() -> None:
    result = process("account", *MNIST.split(), "--delta", "1e-5", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert {"epsilon", "mu", "bound", "kind"} <= set(found)
    assert round(found["epsilon"], 2) == 4.34


def test_bad_input_ends_with_2_and_one_line() -> None:
    words = MNIST.replace("0.05", "0.9").split()
    result = process("account", *words, "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("--learning-rate 0.9: exceeds")
    assert result.stderr.count("\n") == 1


def test_anything_else_ends_with_1(tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    assert process("account", *MNIST.split(), "--save", str(saved)).returncode == 0
    saved.write_text(saved.read_text().replace('"noise": 0.01', '"noise": 0.02'))
    result = process("verify", str(saved))
    assert (result.returncode, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("ending", ["--json", "--explain"])
def test_a_full_disk_behind_standard_output_ends_with_1_and_one_line(ending: str) -> None:
    with open("/dev/full", "w") as full:
        command = [*PROGRAM, "account", *MNIST.split(), ending]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr == "stopped: [Errno 28] No space left on device\n"


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from shiftdp.ui.main import main\n"
        f"sys.argv[1:] = {['account', *MNIST.split(), '--plot', str(tmp_path / 'a.png')]!r}\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert "pip install 'shiftdp[plot]'" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes are closed differently elsewhere")
def test_a_reader_that_leaves_early_is_no_disaster() -> None:
    """As `| head -1` does, and as one that reads nothing at all does."""
    with subprocess.Popen(
        [*PROGRAM, "account", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode in (0, 1)
    line = f'"{sys.executable}" -m shiftdp compare {MNIST} | head -1'
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("accountant")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interruption_leaves_no_traceback() -> None:
    """Of a command that would take minutes, when it has just begun the first of them."""
    words = (
        "frontier noise sgd --n 1000 --batch-size 10 --steps 500 --learning-rate 0.05 --noise 0.5 "
        "--sampling poisson --adjacency zero_out --strong-convexity 1 --smoothness 10 "
        "--sensitivity 1 --values 0.4:0.6:1000"
    )
    code = (
        "import signal\n"
        # what started the tests may have told all its children to ignore it, as `sh` does with `&`
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from shiftdp.ui.main import main\n"
        "from shiftdp.ui.progress import Bar\n"
        "Bar.advance = lambda bar: signal.raise_signal(signal.SIGINT)\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, *words.split()]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr.strip() == "stopped"


def on_terminal(command: list[str], streams: str) -> str:
    """What a process writes to a terminal that stands for some of its streams."""
    import pty

    leader, follower = pty.openpty()
    chosen = {name: follower for name in ("stdout", "stderr") if name in streams}
    others = {name: subprocess.DEVNULL for name in ("stdout", "stderr") if name not in streams}
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, env=environment, **chosen, **others) as child:  # type: ignore[call-overload]
        os.close(follower)
        text = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
    os.close(leader)
    assert child.returncode == 0
    return text.decode()


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_tables_are_drawn_on_a_terminal() -> None:
    text = on_terminal([*PROGRAM, "compare", *MNIST.split()], "stdout")
    assert "───" in text
    assert "[YS22, Thm 3.3]" in text  # a citation is no style
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = [
        line for line in plain.splitlines() if line.strip().startswith(("paper", "composition"))
    ]
    assert len(rows) == 2
    assert len({row.index(" Thm") for row in rows}) == 1


WAITING = """
import threading, time
from shiftdp.ui import progress

shown, real = threading.Event(), progress._rich_bar

def announced():
    shown.set()
    return real()

def wait():
    HOW
    shown.clear()

progress._rich_bar, progress.PATIENCE = announced, PATIENCE
with progress.waiting('certifying'): wait()
with progress.waiting('some values', 1): wait()
"""
# Who looks on for long enough is shown something, who leaves at once is not: no clock decides.
PATIENT = WAITING.replace("PATIENCE\n", "0.01\n").replace("HOW", "shown.wait()")
HASTY = WAITING.replace("PATIENCE\n", "3600.0\n").replace("HOW", "pass")
ELSEWHERE = WAITING.replace("PATIENCE\n", "0.0\n").replace("HOW", "time.sleep(0.1)")


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_what_takes_long_shows_that_it_lives() -> None:
    text = on_terminal([sys.executable, "-c", PATIENT], "stderr")
    assert "certifying" in text
    assert "some values" in text
    assert on_terminal([sys.executable, "-c", HASTY], "stderr") == ""


def test_elsewhere_nothing_is_shown() -> None:
    result = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
