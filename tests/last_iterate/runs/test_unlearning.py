"""Training and further steps without some records."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from shiftdp import (
    Certificate,
    Geometry,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    UnmetHypothesis,
    VerificationFailed,
    certify,
)
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import THEOREMS, LangevinMC, Unlearning
from shiftdp.last_iterate.certification import bound_by, evaluate, mu_by_position
from shiftdp.last_iterate.runs import Run, has_releases, one_record, people, stated

STEP: dict[str, Any] = {"learning_rate": 0.2, "noise": 0.4}
CYCLIC: dict[str, Any] = {"n": 30, "batch_size": 10, "epochs": 6, **STEP}
RIDGE = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
PROX = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0, prox_convexity=0.1)
RELEASING: list[Any] = [
    (NoisyGD, {"n": 30, "steps": 20, **STEP}, "all"),
    (NoisyCGD, CYCLIC, "epochs"),
    (NoisyCGD, CYCLIC, [4, 9]),
    (NoisySGD, {"n": 200, "batch_size": 10, "steps": 30, **STEP}, [10]),
    (NoisySGD, {"n": 30, "batch_size": 30, "steps": 30, **STEP}, "all"),
]
every_release = pytest.mark.parametrize(("kind", "shape", "releases"), RELEASING)


def test_further_steps_are_those_of_training_unless_told() -> None:
    training = NoisyCGD(**{**CYCLIC, "noise": [*([0.1] * 17), 0.7]})
    deletion = Unlearning(training=training, further_epochs=2)
    assert (deletion.further_steps, deletion.steps) == (6, 24)
    assert (deletion.learning_rate, deletion.noise) == (0.2, 0.7)
    assert (deletion.n, deletion.batches) == (30, 3)
    assert not deletion.endless
    assert not deletion.in_epochs


def test_deletion_is_endless_where_training_is() -> None:
    assert Unlearning(training=NoisyGD(n=9, steps=math.inf, **STEP), further_steps=3).endless


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"further_steps": None}, "further_steps"),
        ({"further_epochs": 1}, "further_steps"),
        ({"further_steps": math.inf}, "further_steps"),
        ({"records": 31}, "records"),
        ({"later_requests": [(8, 1)]}, "later_requests"),
        ({"grid": -1.0}, "grid"),
        ({"training": LangevinMC(steps=3, learning_rate=0.1)}, "training"),
    ],
    ids=str,
)
def test_what_is_no_deletion_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        Unlearning(**{"training": NoisyCGD(**CYCLIC), "further_steps": 7, **change})


def test_a_person_is_deleted_as_a_whole() -> None:
    training = NoisyCGD(**CYCLIC, records_per_person=2)
    with pytest.raises(InvalidInput, match="as a whole"):
        Unlearning(training=training, further_steps=7, records=2)


def test_fields_are_stated_with_those_of_training() -> None:
    deletion = Unlearning(training=NoisyCGD(**CYCLIC, records_per_person=2), further_steps=7)
    training = stated(deletion)["training"]
    assert training["type"] == "NoisyCGD"
    assert training["records_per_person"] == 2
    assert "releases" not in training
    assert people(one_record(deletion.training)) == 1


# --- several releases are proved for one record a person, and without deletion or a prox ---


@every_release
def test_people_with_several_records_have_one_release(kind: Any, shape: Any, releases: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"records_per_person=2 .*releases.*; give releases=None"
    ):
        kind(**shape, releases=releases, records_per_person=2)
    assert people(kind(**shape, releases=[kind(**shape).steps], records_per_person=2)) == 2


@every_release
def test_training_with_releases_is_not_deleted_from(kind: Any, shape: Any, releases: Any) -> None:
    training = kind(**shape, releases=releases)
    with pytest.raises(InvalidInput, match=r"training=.*releases.*; give a run with releases=None"):
        Unlearning(training=training, further_steps=7)


def test_a_stream_is_not_deleted_from() -> None:
    stream: Any = NoisyStream(batch_size=10, batches_per_release=3, **STEP)
    with pytest.raises(InvalidInput, match="training"):
        Unlearning(training=stream, further_steps=7)


def with_both(run: Any, **fields: Any) -> Any:
    """A run that no constructor makes."""
    made = type(run)(**vars(run))
    vars(made).update(fields)
    return made


@every_release
def test_no_theorem_is_about_people_and_releases(kind: Any, shape: Any, releases: Any) -> None:
    run = kind(**shape, releases=releases)
    both = with_both(run, records_per_person=2)
    assert has_releases(both)
    assert not [theorem.name for theorem in THEOREMS if theorem.applies_to(both)]
    deletion = Unlearning(training=kind(**shape), further_steps=7)
    behind = with_both(deletion, training=run)
    assert [theorem for theorem in THEOREMS if theorem.applies_to(deletion)]
    assert not [theorem.name for theorem in THEOREMS if theorem.applies_to(behind)]


@every_release
def test_theorems_on_people_and_deletion_are_not_about_releases(
    kind: Any, shape: Any, releases: Any
) -> None:
    run = kind(**shape, releases=releases)
    found = [theorem for theorem in THEOREMS if theorem.applies_to(run)]
    assert found
    assert not [theorem.name for theorem in found if theorem.protects_people]
    assert not [
        theorem.name for theorem in found if theorem.name.startswith(("Theorem V3", "Group"))
    ]


def test_theorems_on_releases_are_not_about_people() -> None:
    of_releases = [item for item in THEOREMS if item.citation in ("Theorem V1", "Theorem V2")]
    assert len(of_releases) == 3
    for kind, shape, _ in RELEASING:
        run = kind(**shape, records_per_person=2)
        assert not [item.name for item in of_releases if item.applies_to(run)]
    assert not [item for item in THEOREMS if getattr(item, "base", None) in of_releases]


STREAM = NoisyStream(batch_size=10, batches_per_release=3, **STEP)


@pytest.mark.parametrize(
    "run", [*(kind(**shape, releases=releases) for kind, shape, releases in RELEASING), STREAM]
)
def test_a_strongly_convex_prox_has_one_release(run: Run) -> None:
    for ask in (certify, evaluate, mu_by_position):
        with pytest.raises(UnmetHypothesis, match=r"prox_convexity=0\.1 .*; give a run"):
            ask(run, PROX)
    for bounds in ("best", "paper", "composition"):
        with pytest.raises(UnmetHypothesis, match="prox_convexity"):
            certify(run, PROX, bounds=bounds)
    theorem = next(item for item in THEOREMS if item.applies_to(run))
    with pytest.raises(UnmetHypothesis, match="prox_convexity"):
        bound_by(theorem, run, PROX, 1e-5)


# --- and no document says otherwise ---


def changed(run: Run, geometry: Geometry = RIDGE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(certify(run, geometry).to_json())
    return found


def refused(document: dict[str, Any]) -> None:
    with pytest.raises((InvalidInput, VerificationFailed)):
        Certificate.from_json(json.dumps(document)).verify()


def test_a_document_with_people_and_releases_is_refused() -> None:
    document = changed(NoisyCGD(**CYCLIC, releases=[4, 9]))
    Certificate.from_json(json.dumps(document)).verify()
    document["run"]["records_per_person"] = 2
    refused(document)
    document = changed(NoisyCGD(**CYCLIC, records_per_person=2))
    Certificate.from_json(json.dumps(document)).verify()
    document["run"]["releases"] = "epochs"
    refused(document)


def test_a_document_of_deletion_after_releases_is_refused() -> None:
    document = changed(Unlearning(training=NoisyCGD(**CYCLIC), further_steps=7))
    Certificate.from_json(json.dumps(document)).verify()
    document["run"]["training"]["releases"] = [4, 9, 18]
    refused(document)


@pytest.mark.parametrize("run", [NoisyCGD(**CYCLIC, releases=[4, 9]), STREAM])
def test_a_document_of_a_prox_with_releases_is_refused(run: Run) -> None:
    document = changed(run)
    Certificate.from_json(json.dumps(document)).verify()
    document["geometry"]["prox_convexity"] = 1e-30  # so little that no number changes
    with pytest.raises(VerificationFailed, match="prox_convexity"):
        Certificate.from_json(json.dumps(document)).verify()


def test_a_stream_says_that_a_person_has_one_record() -> None:
    assert any(
        "a person has one record" in str(item) for item in certify(STREAM, RIDGE).assumptions
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"further_steps": 3, "later_requests": 5},
        {"further_steps": 3, "later_requests": [1, 2]},
        {"further_steps": 3, "later_requests": [(1, 2, 3)]},
        {"further_steps": np.array([])},
        {"further_epochs": np.array([0.0, 0.0])},
    ],
)
def test_what_has_another_shape_is_refused(wrong: dict[str, Any]) -> None:
    """Found by fuzzing: errors of Python and NumPy came through."""
    training = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=1.0)
    with pytest.raises(InvalidInput):
        Unlearning(training=training, **wrong)
