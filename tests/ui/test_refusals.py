"""Bad input: exit code 2, nothing on standard output, one line that begins with the option."""

from pathlib import Path

import pytest

import shiftdp as sdp
from tests.last_iterate.theorems.fixed import Fixed
from tests.ui.shell import CONFIG, MNIST, refused, shiftdp, table


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("account cgd --learning-rate 0.9", "--learning-rate 0.9: exceeds 2/smoothness=0.0615347"),
        (
            "account cgd --noise -1",
            "--noise -1: lies outside its range; give a number in [1e-40, 1e+40]",
        ),
        ("account cgd --noise 0", "--noise 0: lies outside"),
        ("account cgd --n 0", "--n 0: is below 1"),
        ("account cgd --n 2.5", "--n 2.5: is not a whole number"),
        ("account cgd --n many", "--n many: is not a number"),
        ("account cgd --n nan", "--n nan: is not a number"),
        ("account cgd --n 1000", "--batch-size 1500: exceeds n=1000"),
        ("account cgd --epochs 0.3333", "--epochs 0.3333: is not a whole number of steps"),
        ("account cgd --steps 7", "--epochs, --steps: are not one length; give exactly one"),
        ("account cgd --learning-rate 0.1,0.2", "--learning-rate <2 entries>: does not have one"),
        ("account cgd --learning-rate 0.1,x", "--learning-rate 0.1,x: is not a number, or several"),
        ("account cgd --order sideways", "--order sideways: is not one of fixed, shuffled_once"),
        (
            "account cgd --order reshufled",
            "--order reshufled: is not one of fixed, shuffled_once, ",
        ),
        ("account cgd --delta 1", "--delta 1: lies outside [1e-300, 1)"),
        ("account cgd --strong-convexity 99", "--strong-convexity 99: exceeds smoothness=32.502"),
        ("account cgd --sensitivity inf", "--sensitivity inf: lies outside"),
        ("account cgd --sampling poisson", "--sampling poisson: is no option of cgd"),
        ("account cgd --smoothnes 3", "--smoothnes: no such option; did you mean --smoothness?"),
        ("account cgd --plot x.gif", "--plot x.gif: the format is known by its ending"),
        (
            "account cgd --save /no/such/place.json",
            "--save /no/such/place.json: there is no folder",
        ),
        ("account cgd --config no.toml", "--config no.toml: there is no such file"),
        ("account cgd --certificate no.json", "--certificate no.json: there is no such file"),
        (
            "account cdg",
            "KIND cdg: is not one of gd, cgd, sgd, stream, langevin, exponential (did you",
        ),
        ("account cgd --bounds renyi", "--bounds renyi: is not one of best, paper, composition"),
        ("calibrate noise cgd --epsilon -1", "--epsilon -1: lies outside [0, inf)"),
        ("calibrate noise cgd", "--epsilon, --mu, --renyi, --advantage, --tpr: none is given"),
        ("calibrate noise cgd --epsilon 1 --mu 2", "--epsilon 1 --mu 2: are too many"),
        ("calibrate noise cgd --renyi 1", "--renyi-order: is missing"),
        (
            "calibrate noise cgd --renyi 1 --renyi-order 1",
            "--renyi-order 1: lies outside (1, 1e+100]",
        ),
        ("calibrate noise cgd --tpr 0.5", "--fpr: is missing"),
        ("calibrate noise cgd --mu 1 --delta 0.1", "--delta 0.1: says nothing about mu"),
        ("calibrate nose cgd --mu 1", "PARAMETER nose: is not one of noise, placed_noise"),
        (
            "calibrate diameter cgd --epsilon 0.001",
            "--epsilon 0.001: cannot be met by any diameter",
        ),
        ("frontier noise cgd --values 1:2", "--values 1:2: is not LOW:HIGH:COUNT"),
        ("frontier noise cgd --values 2:1:5", "--values 2:1:5: its ends"),
        ("frontier noise cgd --values 1:2:1", "--values 1:2:1: its COUNT"),
        ("frontier noise cgd --values 1:2:inf", "--values 1:2:inf: its COUNT"),
        ("frontier noise cgd --values 0:2:5:log", "--values 0:2:5:log: equal ratios"),
        ("frontier noise cgd --values 1,x", "--values x: is not a number"),
        ("frontier noise cgd --curves worst", "--curves worst: is not one of composition"),
        ("frontier diameter cgd", "--values: are missing, as diameter has no value"),
        ("risk cgd --prior 2", "--prior 2: lies outside [0, 1]"),
        ("risk cgd --candidates 3 --blind 0.1", "--candidates, --blind: are both given"),
        ("risk cgd --mu 1", "KIND cgd: is not used with --mu"),
    ],
)
def test_one_line_names_the_option_and_the_value(line: str, start: str) -> None:
    words = line.split()
    # the run of the paper, in which one thing is wrong
    place = words.index(next(word for word in words if word in ("cgd", "cdg"))) + 1
    given = {word for word in words if word.startswith("--")}
    rest = MNIST.split()[1:]
    pairs = [rest[i : i + 2] for i in range(0, len(rest), 2)]
    others = [word for pair in pairs if pair[0] not in given for word in pair]
    if "--mu" in given and words[0] == "risk":
        others = []
    message = refused(*words[:place], *others, *words[place:])
    assert message.startswith(start)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acount", "acount: no such command; did you mean account?"),
        ("account gd --n", "--n: requires an argument"),
        ("account --n 3", "KIND: is missing; give gd (full batches), cgd"),
        ("account gd --n 3", "--steps, --learning-rate, --noise, --strong-convexity, --smoothness"),
        ("account gd --batch-size 3", "--batch-size 3: is no option of gd, which has --n, --steps"),
        ("account gd cgd sgd", "Got unexpected extra argument"),
        ("verify", "FILE: is missing; see shiftdp verify --help"),
        ("ledger show nothing.db", "FILE nothing.db: there is no such file"),
        ("ledger create a.db --delta 1e-5", "--epsilon: is missing"),
        ("ledger burn", "burn: no such command; there are create"),
        ("risk --mu 1 --certificate pyproject.toml", "--certificate"),
    ],
)
def test_other_mistakes(line: str, message: str) -> None:
    assert refused(line).startswith(message)


def test_remedies_speak_of_options() -> None:
    line = refused(f"account {MNIST.replace('0.05', '0.07')}")
    assert line.endswith("or ask for --bounds composition, which does not need it")
    line = refused(f"account {MNIST} --epochs 1.001")
    assert "give --steps 40 instead" in line


def test_a_value_from_a_file_is_named_with_it(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG.replace("0.05", "0.9"))
    line = refused(f"account --config {path}")
    assert line.startswith(f"{path}: learning_rate = 0.9: exceeds 2/smoothness")


def test_an_exceeded_budget_is_no_bad_input(tmp_path: Path) -> None:
    ledger, run = tmp_path / "a.db", tmp_path / "run.json"
    assert shiftdp(f"account {MNIST} --save {run}").exit_code == 0
    assert shiftdp(f"ledger create {ledger} --epsilon 1 --delta 1e-5").exit_code == 0
    result = shiftdp(f"ledger charge {ledger} --certificate {run}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("epsilon=4.3392 was asked for")


@pytest.mark.parametrize(
    ("line", "start"),
    [
        (
            "calibrate gd --mu 1",
            "PARAMETER: is missing before gd; give one of noise, placed_noise, steps, "
            "learning_rate, strong_convexity, diameter, as in `shiftdp calibrate noise gd ...`",
        ),
        ("risk --epsilon 1", "--epsilon: no such option; one epsilon leaves open what is"),
        ("risk --zzz 1", "--zzz: no such option; see shiftdp risk --help"),
        (
            "account sgd --noise-multiplier 1",
            "--noise-multiplier 1: is in units of the clip, which is not given; give it as "
            "--gradient-bound, from which --sensitivity follows",
        ),
        ("audit exact --theorem B12", "--theorem B12: is no theorem of the registry; did you"),
    ],
)
def test_who_asks_for_what_is_not_there_is_told_what_is(line: str, start: str) -> None:
    assert refused(line).startswith(start)


def test_a_ledger_of_another_adjacency_names_what_can_be_done_from_here(tmp_path: Path) -> None:
    shiftdp(f"ledger create {tmp_path / 'l.db'} --epsilon 5 --delta 1e-5")
    (tmp_path / "d.csv").write_text(table(60))
    words = "--target y --classes 0,1 --epsilon 1 --feature-bound 1 --epochs 2 --anyway"
    line = refused(
        f"train {tmp_path / 'd.csv'} {words} --adjacency zero_out --ledger {tmp_path / 'l.db'} "
        f"-o {tmp_path / 'm.shiftdp'}"
    )
    assert line.startswith("--adjacency zero_out: is not that of the ledger")
    assert "; certify or train with --adjacency replace_one, or" in line
    zeroed = f"{MNIST} --adjacency zero_out --save {tmp_path / 'z.json'}"
    shiftdp(f"account {zeroed}")
    line = refused(f"ledger charge {tmp_path / 'l.db'} --certificate {tmp_path / 'z.json'}")
    assert "with --convert, or" in line


DRAWN = "--n 1000 --batch-size 10 --learning-rate 0.05 --strong-convexity 0 --smoothness 2"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            f"account sgd {DRAWN} --epochs 2 --noise-multiplier 1 --sampling random_allocation",
            "--adjacency replace_one: does not fit random allocation",
        ),
        (
            f"account sgd {DRAWN} --steps 5 --noise 1 --sensitivity 1 --sampling poisson",
            "; or --adjacency zero_out with that bound",
        ),
        (
            f"account sgd {DRAWN} --steps 5 --noise 1 --sensitivity 1 --adjacency zero_out",
            "; give --adjacency replace_one with sensitivity L = 2G",
        ),
        (
            f"account sgd {DRAWN} --epochs 2 --noise 1 --sensitivity 1",
            "; give --steps instead, or --sampling random_allocation",
        ),
        (f"account cgd {DRAWN} --epochs inf --noise 1 --sensitivity 1", "--epochs inf: has no"),
        (
            "account stream --batch-size 10 --batches-per-release 4 --learning-rate 0.1 --noise 1 "
            "--strong-convexity 0 --smoothness 2 --sensitivity 1 --order reshuffled",
            "; choose fixed or shuffled",
        ),
        ("audit trainer --runs 100", "--runs 100: are too few to learn a test and count"),
    ],
)
def test_a_remedy_can_be_typed(line: str, said: str) -> None:
    assert said in refused(line)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--classes 0,1 --algorithm gd --order fixed", "no choice of --algorithm gd; leave"),
        ("--classes 0,2", "has labels that are not in classes; give all labels by --classes"),
        ("--classes 0,1 --penalty l1 --alpha -1", "--alpha -1: lies outside its range"),
        ("--classes 0,1,2 --model svc", "; give two, or use --model logistic"),
        ("--classes 0,1 --records-per-person 3", "is missing with --records-per-person 3; give"),
        ("--classes 0,1 --learning-rate 1e9", "; leave --learning-rate to the planner, or"),
        ("--model huber --classes 0,1", "--classes 0,1: is for classes, and huber has none"),
        ("--model huber --class-weights 1,2", "--class-weights 1,2: is for classes"),
    ],
)
def test_training_is_refused_in_the_words_of_the_command(
    tmp_path: Path, given: str, said: str
) -> None:
    (tmp_path / "d.csv").write_text(table(200))
    line = f"train {tmp_path / 'd.csv'} --target y --epsilon 1 --feature-bound 2 {given}"
    assert said in refused(f"{line} -o {tmp_path / 'm.shiftdp'}")


def test_what_is_no_model_is_told_who_writes_one(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(table(20))
    line = refused(f"inspect {tmp_path / 'd.csv'}")
    assert line.endswith("is no model file; give what `shiftdp train` or save_model wrote")


def test_what_is_wrong_in_a_file_is_said_of_the_file(tmp_path: Path) -> None:
    shiftdp(f"account {MNIST} --save {tmp_path / 'run.json'}")
    text = (tmp_path / "run.json").read_text()
    (tmp_path / "edited.json").write_text(text.replace("0.01", "0.02"))
    result = shiftdp(f"verify {tmp_path / 'edited.json'}")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{tmp_path / 'edited.json'}: the proof in it does not hold")
    (tmp_path / "d.csv").write_text(table(60))
    for field, said in (
        ('kind = "nmber"', "columns.height.kind nmber is no known kind; give one of number"),
        ('kind = "number"\nlow = 5', "columns.height.low, high are half a range; give both"),
    ):
        (tmp_path / "s.toml").write_text(f'target = "y"\n[columns.height]\n{field}\n')
        line = refused(
            f"train {tmp_path / 'd.csv'} --schema {tmp_path / 's.toml'} --epsilon 1 "
            f"-o {tmp_path / 'm.shiftdp'}"
        )
        assert line.startswith("--schema ")
        assert f": {said}" in line


@pytest.mark.parametrize("proofs", ["[]", '[{"reasons": 100}]'])
def test_a_theorem_of_the_author_is_no_damage(tmp_path: Path, proofs: str) -> None:
    run = sdp.NoisyGD(n=100, steps=20, learning_rate=1.5, noise=0.05)
    losses = sdp.Geometry(strong_convexity=1, smoothness=1, sensitivity=5)
    text = sdp.certify(run, losses, theorems=[Fixed(0.01)]).to_json()
    path = tmp_path / "mine.json"
    path.write_text(text.replace('"proofs": []', f'"proofs": {proofs}'))
    for line in ("verify", "account --certificate", "risk --certificate", "statement"):
        result = shiftdp(f"{line} {path}")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == (
            f"{path}: it rests on a theorem of its author's, 'Fixed', which can be checked in "
            "Python only; ask its author for it, then "
            "Certificate.from_json(text, theorems=[...]).verify(theorems=[...])\n"
        )
