"""Plans come back with exactly the fields that they have."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiftdp import InvalidInput, NoisyCGD, placed_noise
from shiftdp.sklearn import load_model, save_model
from shiftdp.training.model_file.archive import Damaged, unpack
from shiftdp.training.model_file.plans import read_plan, write_plan
from tests.training.model_file.examples import example
from tests.training.model_file.rewriting import rewritten


@pytest.mark.parametrize("delta", ["0.0", "1.0", "-1e-05", "2", "1e-310", '{"float": "inf"}'])
def test_the_delta_of_the_statement_is_one(delta: str, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)

    def changed(text: bytes) -> bytes:
        before, problem, after = text.partition(b'"class": "Problem"')
        assert problem
        return before + problem + after.replace(b'"delta": 1e-05', f'"delta": {delta}'.encode(), 1)

    rewritten(path, model=changed)
    with pytest.raises(InvalidInput):
        load_model(path)


PLANS = ("logistic", "softmax", "huber", "poisson", "seeded")


@pytest.mark.parametrize("kind", PLANS)
def test_plans_come_back(kind: str) -> None:
    planned = example(kind).model.plan_
    copy = read_plan(json.loads(json.dumps(write_plan(planned))))
    assert copy == planned
    assert copy.plan.certificate.to_json() == planned.plan.certificate.to_json()


def test_noise_that_is_placed_comes_back() -> None:
    """One noise a step, with zeros among them, and one learning rate a step."""
    planned = example("logistic").model.plan_
    n = planned.plan.run.n
    shape = NoisyCGD(
        n=n, batch_size=-(-n // 4), epochs=1, learning_rate=[0.2, 0.2, 0.1, 0.1], noise=1.0
    )
    run = placed_noise(shape, planned.plan.geometry, mu=1.0)
    placed = replace(planned, plan=replace(planned.plan, run=run))
    copy = read_plan(json.loads(json.dumps(write_plan(placed))))
    assert copy == placed
    assert copy.plan.run.noise == run.noise
    assert run.noise[0] == 0.0  # type: ignore[index]
    document = write_plan(placed)
    document["plan"]["run"]["noise"][-1] = 0.0
    with pytest.raises(Damaged, match="last step"):
        read_plan(document)


@pytest.mark.parametrize("part", ["problem", "plan", "prediction"])
def test_every_field_is_needed_and_no_other_is_known(part: str) -> None:
    document = write_plan(example("logistic").model.plan_)
    for name in document[part]:
        lacking = {key: value for key, value in document[part].items() if key != name}
        with pytest.raises(Damaged):
            read_plan({**document, part: lacking})
    with pytest.raises(Damaged, match="not expected"):
        read_plan({**document, part: {**document[part], "note": 1}})


def test_a_plan_of_another_problem_contradicts_itself() -> None:
    document = write_plan(example("logistic").model.plan_)
    n = document["problem"]["n"]
    with pytest.raises(Damaged, match="contradicts itself"):
        read_plan({**document, "problem": {**document["problem"], "n": n + 1}})


def test_the_certificate_of_another_model_is_refused(tmp_path: Path) -> None:
    """Also when the digest is made anew."""
    path, other = tmp_path / "one", tmp_path / "two"
    save_model(example("logistic").model, path)
    save_model(example("other logistic").model, other)
    foreign = unpack(other.read_bytes())["certificate.json"]
    rewritten(path, certificate=lambda own: foreign)
    with pytest.raises(InvalidInput, match="certificate of another run"):
        load_model(path)


@pytest.mark.parametrize("version", ["0.1.0", "0.0.1"], ids=["this version", "another version"])
def test_an_altered_certificate_is_refused(tmp_path: Path, version: str) -> None:
    path = tmp_path / "model.shiftdp"
    model = example("full batches").model
    save_model(model, path)
    mu = model.certificate_.mu
    assert mu is not None

    def lowered(text: bytes) -> bytes:
        assert repr(mu).encode() in text
        return text.replace(repr(mu).encode(), repr(mu / 2).encode())

    def versioned(text: bytes) -> bytes:
        return re.sub(rb'"shiftdp": "[^"]*"', f'"shiftdp": "{version}"'.encode(), text)

    rewritten(path, model=versioned)
    assert load_model(path).certificate_.mu == mu
    rewritten(path, certificate=lowered)
    with pytest.raises(InvalidInput, match="certificate that"):
        load_model(path)


def test_the_stamp_of_a_seeded_run_is_in_plan_and_certificate_alike(tmp_path: Path) -> None:
    """Whoever edits both and makes the digest anew is not found out: that takes a signature."""
    path = tmp_path / "model.shiftdp"
    save_model(example("seeded").model, path)

    def unstamped(text: bytes) -> bytes:
        document = json.loads(text)
        del document["assumptions"][0]
        return f"{json.dumps(document)}\n".encode()

    def system(text: bytes) -> bytes:
        return re.sub(rb'\{"class": "Seeded", "seed": [0-9]+\}', b'{"class": "System"}', text)

    original = path.read_bytes()
    for changes in ({"certificate": unstamped}, {"model": system}):
        path.write_bytes(original)
        rewritten(path, **changes)
        with pytest.raises(InvalidInput, match="whether the run is private"):
            load_model(path)


def test_no_certificate_is_derived_when_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged plan of random batches could take gigabytes: the proof in the file is checked."""
    for kind in ("poisson", "softmax", "logistic", "seeded"):
        save_model(example(kind).model, tmp_path / kind)

    def derived(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("a certificate was derived")

    monkeypatch.setattr("shiftdp.training.plan.certify", derived)
    for kind in ("poisson", "softmax", "logistic", "seeded"):
        load_model(tmp_path / kind)
    path = tmp_path / "poisson"

    def costly(text: bytes) -> bytes:
        return re.sub(rb'"noise": [0-9.e-]+', b'"noise": 1e-05', text)

    rewritten(path, model=costly, certificate=costly)
    with pytest.raises(InvalidInput, match="certificate that does not hold"):
        load_model(path)
