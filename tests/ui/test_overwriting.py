"""No command writes over what it reads, over another of its files, or over a model."""

from pathlib import Path

import pytest

from tests.ui.shell import CONFIG, MNIST, prose, refused, table

RUN = MNIST.replace("--noise 0.01 ", "")
TRAIN = "train d.csv --target y --classes 0,1 --epsilon 1 --feature-bound 1"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(table(20))
    (tmp_path / "m.shiftdp").write_bytes(b"PK: a model")
    (tmp_path / "r.toml").write_text(CONFIG)
    (tmp_path / "noise.csv").write_text("noise\n" + "0.01\n" * 2000)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text(table(20))
    (tmp_path / "link.csv").symlink_to(tmp_path / "d.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (f"{TRAIN} -o n.shiftdp --save d.csv", "--save d.csv: is the file of DATA too"),
        (f"{TRAIN} -o n.shiftdp --save ./link.csv", "--save ./link.csv: is the file of DATA too"),
        (f"{TRAIN} -o n.shiftdp --save n.shiftdp", "--save n.shiftdp: is the file of --output too"),
        ("predict m.shiftdp d.csv -o d.csv", "--output d.csv: is the file of DATA too"),
        ("predict m.shiftdp parts -o parts/1.csv", "--output parts/1.csv: is the file of DATA too"),
        ("statement m.shiftdp -o m.shiftdp", "--output m.shiftdp: is the file of FILE too"),
        ("account --config r.toml --save r.toml", "--save r.toml: is the file of --config too"),
        (f"account {RUN} --noise noise.csv --save noise.csv", "is the file of --noise too"),
        (f"account {MNIST} --save m.shiftdp", "is there already, and by its name a model"),
    ],
)
def test_files_that_would_be_lost_are_refused(here: Path, line: str, named: str) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    said = refused(line)
    assert named in said
    assert said.endswith("; give another name")
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_a_file_named_in_the_config_is_told_as_it_stands_there(here: Path) -> None:
    (here / "r.toml").write_text(CONFIG + 'save = "r.toml"\n')
    line = "r.toml: save = r.toml: is the file of --config too, and would replace it"
    assert refused("account --config r.toml") == f"{line}; give another name"


def test_other_files_are_replaced_as_before(here: Path) -> None:
    prose(f"account {MNIST} --save run.json")
    prose(f"account {MNIST} --save run.json")
    prose(f"account {MNIST} --save /dev/null")


def test_what_is_no_table_in_a_folder_of_them_is_replaced(here: Path) -> None:
    (here / "parts" / "run.json").write_text("{}")
    prose(f"{TRAIN.replace('d.csv', 'parts')} --dry-run --anyway --save parts/run.json")
    assert (here / "parts" / "run.json").read_text() != "{}"
