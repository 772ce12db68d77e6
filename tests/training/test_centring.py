"""Centred rows: what is measured, what it costs, and what is given back. Theorem P2."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shiftdp import (
    Certificate,
    Ledger,
    NoisyCGD,
    NoisyGD,
    UnmetHypothesis,
    VerificationFailed,
    audit,
)
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.sklearn import PrivateLogisticRegression, load_model, save_model
from shiftdp.training import L1, Aes, Ball, Huber, Logistic, Plan, Seeded, Softmax, System, descend
from shiftdp.training.centring import (
    Centre,
    deviations,
    distances_from,
    measured,
    sum_of,
    with_sums,
    without_sums,
)
from shiftdp.training.descent import loop
from shiftdp.training.descent import records as records_module
from shiftdp.training.descent.disk import DiskFull
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.descent.loop import descend_stacked
from shiftdp.training.descent.records import bounded_rows, moved, prepare
from shiftdp.training.descent.state_file import EncryptedState
from shiftdp.ui.commands.files.inspect import noise_of, stretched

N, D, BOUND = 60, 3, 2.0
RUN = NoisyGD(n=N, steps=4, learning_rate=[0.4, 0.3, 0.2, 0.1], noise=[0.5, 0.4, 0.3, 0.2])
PLAN = Plan(
    run=with_sums(RUN, 0.3, 0.6),
    loss=Logistic(),
    feature_bound=BOUND,
    clipping="envelope",
    clip=1.0,
    bounds="composition",
    centred=True,
    entropy=Seeded(3),
)
PRIVATE = replace(PLAN, entropy=System())
ADJACENCIES: tuple[Adjacency, ...] = ("replace_one", "zero_out")
CENTRE = np.array([1.2, 0.0, -0.6])


class Fixed(Stream):
    """The same number again and again, in place of noise."""

    def __init__(self, number: float) -> None:
        self._number = number

    def draw(self, size: int) -> bytes:
        raise NotImplementedError

    def fill(self, out: NDArray[Any]) -> None:
        out.fill(self._number)


def rows(seed: int = 0, n: int = N) -> NDArray[Any]:
    return CENTRE + 0.2 * np.random.default_rng(seed).normal(size=(n, D))


def labels(seed: int = 0, n: int = N) -> NDArray[Any]:
    return np.random.default_rng(seed + 1).integers(0, 2, n)


# --- what it costs ---


def test_the_certificate_is_that_of_a_run_with_two_more_steps() -> None:
    L = Fraction(PRIVATE.geometry.sensitivity)
    noise = (0.3, 0.6, 0.5, 0.4, 0.3, 0.2)
    exact = sum(L**2 / (N * Fraction(sigma)) ** 2 for sigma in noise)
    mu = PRIVATE.certificate.mu
    assert mu is not None
    assert exact <= Fraction(mu) ** 2 <= exact * Fraction(1 + 1e-9)
    run: Any = PRIVATE.certificate.run
    assert (run.steps, run.noise) == (6, noise)
    assert PRIVATE.certificate.bound == "Thm gd (composition)"


ENTRIES = st.lists(st.floats(-5.0, 5.0), min_size=D, max_size=D)


@given(
    one=ENTRIES,
    other=ENTRIES,
    place=ENTRIES,
    adjacency=st.sampled_from(ADJACENCIES),
    clip=st.floats(0.01, 1.0),
)
def test_neighbouring_sums_are_no_further_apart_than_their_noise_pays_for(
    one: list[float], other: list[float], place: list[float], adjacency: Adjacency, clip: float
) -> None:
    plan = replace(PRIVATE, adjacency=adjacency, clip=clip)
    bounded = [bounded_rows(np.array([row]), BOUND) for row in (one, other)]
    sums = np.array([sum_of(row, BOUND) for row in bounded])
    counts = np.array([distances_from(np.array(place), row, BOUND) for row in bounded])
    L = plan.geometry.sensitivity
    for found, noise, sigma in zip((sums, counts), deviations(plan), (0.3, 0.6), strict=True):
        apart = found[0] - found[1] if adjacency == "replace_one" else found[0]
        assert np.linalg.norm(apart) / noise <= L / (N * sigma) * (1.0 + 1e-15)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_sums_at_opposite_ends_need_all_of_their_noise(adjacency: Adjacency) -> None:
    """The noise is not larger than it has to be, but for the rounding of the steps."""
    plan = replace(PRIVATE, adjacency=adjacency)
    ends = [bounded_rows(np.array([[sign * BOUND, 0.0, 0.0]]), BOUND) for sign in (1.0, -1.0)]
    sums = [sum_of(row, BOUND) for row in ends]
    place = np.array([BOUND, 0.0, 0.0])
    counts = [distances_from(place, row, BOUND) for row in ends]
    pays = plan.geometry.sensitivity / N
    for found, noise, sigma in zip((sums, counts), deviations(plan), (0.3, 0.6), strict=True):
        apart = found[0] - found[1] if adjacency == "replace_one" else found[0]
        assert np.linalg.norm(apart) / noise == pytest.approx(pays / sigma, rel=1e-5)


def test_both_sums_get_the_noise_that_is_stated() -> None:
    """The same rows with noise and without: what is between them is one deviation an entry."""
    bounded = bounded_rows(rows(), BOUND)
    plan = replace(PLAN, run=with_sums(RUN, 1e-3, 0.6))
    without, with_noise = (measured(plan, bounded, Fixed(z)) for z in (0.0, 1.0))
    of_sum, _ = deviations(plan)
    assert of_sum == pytest.approx(1e-3 * N / PLAN.gradient_bound, rel=1e-9)
    assert (with_noise.place - without.place) / BOUND * N == pytest.approx(of_sum, rel=0.02)


def test_sums_are_exact_in_any_order_and_cut_towards_0() -> None:
    many = rows(n=500)
    shuffled = np.random.default_rng(4).permutation(many)
    one, other = (sum_of(bounded_rows(each, BOUND), BOUND) for each in (many, shuffled))
    assert one.tolist() == other.tolist()
    held = bounded_rows(many, BOUND).take(slice(0, 500))
    cut = [[math.trunc(Fraction(x) / 2 * 2**20) for x in row] for row in held.tolist()]
    assert one.tolist() == [sum(column) / 2**20 for column in zip(*cut, strict=True)]


def test_every_row_counts_once_wherever_it_is() -> None:
    bounded = bounded_rows(np.vstack([rows(), -rows()]), BOUND)
    counts = distances_from(CENTRE, bounded, BOUND)
    apart = np.linalg.norm(bounded.take(slice(0, 2 * N)) - CENTRE, axis=1) / BOUND
    edges = [0.0, *(2.0 ** (k / 4) for k in range(-24, 1))]
    expected = [np.sum((apart > low) & (apart <= high)) for low, high in pairwise(edges)]
    expected[-1] += np.sum(apart > 1.0)
    assert counts.tolist() == expected
    assert counts.sum() == 2 * N


# --- what is trained ---


def test_it_is_the_run_on_rows_that_were_moved_by_hand() -> None:
    X, y = rows(), labels()
    centre = measured(PLAN, bounded_rows(X, BOUND), Seeded(3).open("rows"))
    by_hand = (bounded_rows(X, BOUND).take(slice(0, N)) - centre.place) * (BOUND / centre.distance)
    alone = descend(replace(PLAN, centred=False, run=without_sums(PLAN.run)), by_hand, y)
    weights, constant = alone[:-1] * BOUND / centre.distance, alone[-1]
    expected = [*weights, constant - weights @ centre.place]
    assert descend(PLAN, X, y).tolist() == pytest.approx(expected, rel=1e-12)


def test_scores_are_those_of_moved_rows() -> None:
    centre = Centre(np.array([1.0, -0.5, 0.2]), 0.7)
    w = np.random.default_rng(0).normal(size=(4, D + 1))
    near = centre.moved(rows(), BOUND)
    given_back = centre.given_back(w, BOUND)
    assert rows() @ given_back[:, :-1].T + given_back[:, -1] == pytest.approx(
        near @ w[:, :-1].T + w[:, -1], abs=1e-12
    )


def test_no_moved_row_is_longer_than_the_bound() -> None:
    records = moved(PLAN, prepare(PLAN, rows(), labels()), Centre(np.array([-1.0, 0.0, 0.0]), 0.1))
    lengths = np.linalg.norm(records.rows.take(slice(0, N)), axis=1)
    assert lengths.max() <= BOUND
    assert records.limits is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moved_rows_take_as_much_memory_as_rows(dtype: Any) -> None:
    records = prepare(PLAN, rows().astype(dtype), labels())
    assert moved(PLAN, records, Centre(CENTRE, 1.0)).rows.features.dtype == dtype


def test_a_mean_that_is_lost_in_its_noise_moves_little() -> None:
    """Of what is noise alone next to nothing is left."""
    bounded = bounded_rows(np.full((N, 400), 1e-4), BOUND)
    found = measured(PLAN, bounded, Seeded(1).open("rows"))
    noise = deviations(PLAN)[0] / N * BOUND * math.sqrt(400)
    assert np.linalg.norm(found.place) < 0.2 * noise


@pytest.mark.parametrize("features", [1, 2])
def test_a_short_mean_is_not_made_longer(features: int) -> None:
    tiny = bounded_rows(np.full((N, features), 1e-6), BOUND)
    quiet = measured(PLAN, tiny, Fixed(0.0))
    assert np.abs(quiet.place).max() <= 1e-5
    for seed in range(30):
        found = measured(PLAN, tiny, Seeded(seed).open("rows"))
        assert np.linalg.norm(found.place) <= BOUND * (1.0 + 1e-12)


def test_one_feature_is_learnt_as_well_as_without_a_centre() -> None:
    rng = np.random.default_rng(0)
    right = []
    for seed in range(10):
        X = rng.normal(size=(300, 1))
        y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
        model = PrivateLogisticRegression(
            0.5, feature_bound=3.0, classes=[0, 1], centre=True, random_state=seed
        ).fit(X, y)
        right.append(model.score(X, y))
    assert np.mean(right) > 0.85


def test_rows_are_held_to_a_distance_that_most_keep_to() -> None:
    """Nine rows of ten are a fifth of the bound away from the centre, the others near the end."""
    axes = np.eye(D)[np.arange(N) % D] * np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    X = axes * np.where(np.arange(N) < 54, 0.2, 0.9)[:, None] * BOUND
    quiet = replace(PLAN, run=with_sums(RUN, 1e-6, 1e-6))
    found = measured(quiet, bounded_rows(X, BOUND), Seeded(0).open("rows"))
    assert np.abs(found.place).max() < 1e-4
    assert found.distance == BOUND * 2.0 ** (-9 / 4)  # the next one above a fifth


def test_a_distance_that_noise_hides_is_the_bound() -> None:
    loud = replace(PLAN, run=with_sums(RUN, 0.3, 1e3))
    for seed in range(50):
        found = measured(loud, bounded_rows(rows(), BOUND), Seeded(seed).open("rows"))
        assert found.distance >= BOUND / 2


def test_noise_of_rows_is_not_the_noise_of_steps() -> None:
    """In test mode too: a seed makes three streams."""
    found = [Seeded(5).open(role) for role in ("noise", "batches", "rows")]
    drawn = [stream.draw(64) for stream in found]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("entropy", [System(), Aes()])
def test_secret_noise_never_repeats(entropy: Any) -> None:
    if isinstance(entropy, Aes):
        pytest.importorskip("cryptography")
    plan = replace(PLAN, entropy=entropy)
    assert descend(plan, rows(), labels()).tolist() != descend(plan, rows(), labels()).tolist()


def test_stacked_runs_measure_rows_each_by_itself() -> None:
    found = descend_stacked(PLAN, rows(), labels(), 3)
    seeds = Seeded(3).several(3)
    expected = [descend(replace(PLAN, entropy=seed), rows(), labels()) for seed in seeds]
    assert found.tolist() == [one.tolist() for one in expected]


@pytest.mark.parametrize("outputs", [2, 3])
def test_several_classes_have_their_weights_given_back(outputs: int) -> None:
    plan = replace(
        PLAN,
        loss=Softmax(classes=outputs),
        clipping="plain",
        run=NoisyGD(n=N, steps=42, learning_rate=2.0, noise=1e-6),
    )
    y = np.arange(N) % outputs
    X = rows() + 0.5 * np.eye(D)[y]
    w = descend(plan, X, y)
    assert w.shape == (outputs, D + 1)
    assert np.mean((X @ w[:, :-1].T + w[:, -1]).argmax(axis=1) == y) > 0.9


def test_regression_is_as_good_as_on_rows_that_lie_around_0() -> None:
    plan = replace(
        PLAN,
        loss=Huber(),
        clipping="none",
        clip=None,
        run=NoisyGD(n=N, steps=202, learning_rate=0.3, noise=1e-6),
    )
    X = rows()
    y = X @ [1.0, 2.0, -1.0] + 3.0
    w = descend(plan, X, y)
    assert np.abs(X @ w[:-1] + w[-1] - y).max() < 0.2


def test_a_model_says_where_its_rows_lie_and_a_file_holds_it(tmp_path: Path) -> None:
    X = CENTRE / 2 + 0.05 * np.random.default_rng(0).normal(size=(2_000, D))
    y = np.arange(2_000) % 2
    model = PrivateLogisticRegression(3.0, feature_bound=2.0, classes=[0, 1]).fit(X, y)
    assert np.linalg.norm(model.centre_ - CENTRE / 2) < 0.1
    assert 0.05 < model.distance_ < 0.5
    save_model(model, tmp_path / "model.shiftdp")
    again = load_model(tmp_path / "model.shiftdp")
    assert again.centre_.tolist() == model.centre_.tolist()
    assert again.distance_ == model.distance_
    model.set_params(centre=False).fit(X, y)
    assert not {"centre_", "distance_"} & set(vars(model))


def test_inspect_shows_the_noise_that_coefficients_have() -> None:
    """Beside the deviation over many fits, of rows that are close to one another."""
    X = np.array([1.0, 0.0, 0.0]) + 0.02 * np.random.default_rng(0).normal(size=(1_000, 3))
    y = np.random.default_rng(1).integers(0, 2, 1_000)
    stated, found = [], []
    for seed in range(60):
        model = PrivateLogisticRegression(
            1.0, feature_bound=1.0, classes=[0, 1], random_state=seed
        ).fit(X, y)
        found.append(model.coef_[0])
        stated.append(noise_of(model.plan_.plan) * stretched(model))
    assert model.plan_.plan.centred
    spread = float(np.median(np.abs(found))) / 0.6745
    assert 0.3 * np.median(stated) < spread < 1.5 * np.median(stated)


def test_estimators_from_before_can_be_used() -> None:
    """What was pickled has no `centre`: it is left to the planner then."""
    model = PrivateLogisticRegression(1.0, feature_bound=2.0, classes=[0, 1])
    del model.__dict__["centre"]
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params()["centre"] is None
    assert again.fit(rows(n=300), labels(n=300)).certificate_.epsilon(1e-5) <= 1.0


def test_a_disk_without_room_is_said_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(rows: Any) -> Any:
        raise DiskFull("no room")

    ledger = Ledger.create(tmp_path / "study", epsilon=9.0, delta=1e-5)
    model = PrivateLogisticRegression(
        1.0, feature_bound=2.0, classes=[0, 1], centre=True, ledger=ledger
    )
    monkeypatch.setattr(records_module, "_room", full)
    with pytest.raises(DiskFull, match="no room"):
        model.fit(rows(), labels())
    assert not ledger.entries()


def test_plans_for_rows_that_cannot_be_centred_are_refused_where_it_is_asked_for() -> None:
    model = PrivateLogisticRegression(1.0, feature_bound=2.0, classes=[0, 1], centre=True)
    with pytest.raises(UnmetHypothesis, match="sparse"):
        model.plan(500, 3, dense=False)
    with pytest.raises(UnmetHypothesis, match="sparse"):
        model.fit(sp.csr_array(rows()), labels())


def test_progress_that_fails_is_told_as_any_other_step_is() -> None:
    def boom(at: int) -> Any:
        def progress(done: int, steps: int) -> None:
            if done == at:
                raise ValueError("an entry: 0.123")

        return progress

    with pytest.raises(loop.TrainingStopped, match="ValueError before step 3 of 6"):
        descend(PLAN, rows(), labels(), progress=boom(2))
    with pytest.raises(loop.TrainingStopped, match="ValueError after step 4 of 6"):
        descend(PLAN, rows(), labels(), progress=boom(4))


# --- attacks ---


def test_an_audit_of_centred_runs_finds_nothing() -> None:
    assert audit(PLAN, runs=600, confidence=0.9999).verdict == "consistent"


def test_an_audit_sees_a_centre_without_noise() -> None:
    """Two data sets whose means differ, under the certificate of a noisy centre."""
    quiet = replace(PLAN, run=with_sums(RUN, 1e-9, 1e-9))
    far = np.zeros((N, D))
    near = far.copy()
    near[0] = [BOUND, 0.0, 0.0]

    def shown(X: Any, y: Any) -> Any:
        source = Seeded(int(np.random.default_rng().integers(2**31))).open("rows")
        return measured(quiet, bounded_rows(X, BOUND), source).place

    y = np.zeros(N, dtype=int)
    report = audit(
        shown, PRIVATE.certificate, data=(far, y), neighbour=(near, y), runs=200, confidence=0.99
    )
    assert report.verdict == "violated"


# --- certificates ---


def test_a_certificate_says_it_and_is_read_again() -> None:
    certificate = PRIVATE.certificate
    certificate.verify()
    again = Certificate.from_json(certificate.to_json())
    again.verify()
    assert again == certificate
    assert "distances from their noisy mean" in certificate.statement()
    assert "the two noisy sums are released" in certificate.statement()
    uncentred = replace(PRIVATE, centred=False).certificate
    assert "centred" not in uncentred.to_json()
    assert "centred" not in uncentred.statement()


def test_a_forged_certificate_of_centred_rows_is_refused() -> None:
    certificate = PRIVATE.certificate
    training = certificate.training
    assert training is not None
    short = NoisyGD(n=N, steps=2, learning_rate=0.1, noise=0.3)
    with pytest.raises(VerificationFailed):
        replace(certificate, run=short).verify()
    with pytest.raises(VerificationFailed, match="centring"):
        replace(certificate, training=replace(training, intercept=False)).verify()
    smooth = replace(PRIVATE, centred=False, bounds="best").certificate
    assert smooth.training is not None
    with pytest.raises(VerificationFailed, match="centring"):
        replace(smooth, training=replace(smooth.training, centred=True)).verify()


# --- what is refused ---


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"bounds": "best"}, "bounds"),
        ({"intercept": False}, "intercept"),
        ({"prox": L1(0.1)}, "prox"),
        ({"projection": Ball(1.0)}, "projection"),
        ({"run": NoisyCGD(n=N, batch_size=5, epochs=1, learning_rate=0.1, noise=1.0)}, "batches"),
        ({"run": NoisyGD(n=N, steps=4, learning_rate=0.1, noise=1.0, releases="all")}, "releases"),
        (
            {"run": NoisyGD(n=N, steps=4, learning_rate=0.1, noise=1.0, records_per_person=2)},
            "person",
        ),
        ({"run": NoisyGD(n=2**33, steps=4, learning_rate=0.1, noise=1.0)}, "records"),
        ({"run": NoisyGD(n=N, steps=2, learning_rate=0.1, noise=1.0)}, "2 steps"),
        ({"run": with_sums(RUN, 0.0, 1.0)}, "without noise"),
        ({"run": with_sums(RUN, 1.0, 0.0)}, "without noise"),
    ],
)
def test_runs_that_cannot_be_centred_are_refused(changed: dict[str, Any], what: str) -> None:
    with pytest.raises(UnmetHypothesis, match=what):
        replace(PLAN, **changed)


def test_rows_in_a_file_are_centred_there(tmp_path: Path) -> None:
    file = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(N, D))
    file[...] = rows()
    assert descend(PLAN, file, labels()).tolist() == descend(PLAN, rows(), labels()).tolist()


def test_progress_counts_the_sums_too() -> None:
    seen: list[tuple[int, int]] = []
    descend(PLAN, rows(), labels(), progress=lambda done, steps: seen.append((done, steps)))
    assert seen == [(done, 6) for done in range(2, 7)]


def test_an_interrupted_measurement_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> Any:
        raise ValueError("an entry: 0.123")

    monkeypatch.setattr(records_module, "measured", broken)
    with pytest.raises(loop.TrainingStopped, match="ValueError before step 3 of 6") as caught:
        descend(PLAN, rows(), labels())
    assert caught.value.__context__ is None
    assert "0.123" not in str(caught.value)


def test_sparse_rows_are_refused() -> None:
    with pytest.raises(UnmetHypothesis, match="sparse"):
        descend(PLAN, sp.csr_array(rows()), labels())


def test_a_run_that_goes_on_later_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    state = EncryptedState(tmp_path / "state", b"k" * 32)
    with pytest.raises(UnmetHypothesis, match="kept in a state"):
        descend(PRIVATE, rows(), labels(), state=state)
    assert not (tmp_path / "state").exists()
