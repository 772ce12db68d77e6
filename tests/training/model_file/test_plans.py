"""Plans come back with exactly the fields that they have."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from shiftdp import InvalidInput, NoisyCGD, placed_noise
from shiftdp.sklearn import load_model, save_model
from shiftdp.training.model_file.damage import Damaged
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
