"""Opacus, the real one: what is certified is what ran, and what no theorem covers is refused."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader

import shiftdp as sdp
from shiftdp.privacy.opacus.accountant import Declaration, register
from tests.privacy.opacus.loop import COMPOSED, DELTA, FEATURES, LOGISTIC, Session, dataset, session

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]
CLASS: dict[str, Any] = {
    "strong_convexity": 0.1,
    "smoothness": 0.6,  # (1 + 1)/4 with the intercept, and the weight decay
    "sensitivity": 0.7,
    "adjacency": "zero_out",
}


# --- end to end ---


@pytest.mark.parametrize(
    ("shuffle", "poisson", "bound"),
    [(False, False, "Theorem B1"), (True, False, "Theorem B4"), (False, True, "Theorem B6")],
)
def test_epsilon_is_that_of_certify(shuffle: bool, poisson: bool, bound: str) -> None:
    made = session(shuffle=shuffle, poisson_sampling=poisson).train(4)
    common: dict[str, Any] = {
        "n": 60,
        "batch_size": 10,
        "learning_rate": 0.5,
        "noise": 2 * 0.7 / 10,
    }
    run: Any
    if poisson:
        run = sdp.NoisySGD(**common, steps=24, sampling="poisson")
    else:
        run = sdp.NoisyCGD(**common, epochs=4, order="reshuffled" if shuffle else "fixed")
    expected = sdp.certify(run, sdp.Geometry(**CLASS)).epsilon(DELTA)
    found = made.engine.get_epsilon(DELTA)
    assert found == pytest.approx(expected, rel=1e-9)
    certificate = made.accountant.certificate(delta=DELTA)
    assert certificate.bound.startswith(bound)
    assert found == certificate.epsilon(DELTA)
    certificate.verify()
    assert any(item.name == "hidden iterates" for item in certificate.assumptions)


def test_poisson_last_iterate() -> None:
    """A run long enough to forget its start."""
    declaration = Declaration(adjacency="zero_out", loss="logistic", feature_bound=0.1)
    made = session(
        declaration,
        data=dataset(60, norm=0.1),
        batch_size=30,
        poisson_sampling=True,
        lr=1.0,
        weight_decay=0.8,
        noise_multiplier=1.0,
    ).train(30)
    certificate = made.accountant.certificate(delta=DELTA)
    assert certificate.bound == "Theorem B7"
    run, geometry = made.accountant.described()
    composed = sdp.certify(run, geometry, bounds="composition").epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) < 0.9 * composed


def test_replace_one_doubles_the_sensitivity() -> None:
    declaration = Declaration(adjacency="replace_one", loss="logistic", feature_bound=1.0)
    made = session(declaration).train(2)
    run = sdp.NoisyCGD(n=60, batch_size=10, epochs=2, learning_rate=0.5, noise=0.14)
    geometry = sdp.Geometry(**{**CLASS, "sensitivity": 1.4, "adjacency": "replace_one"})
    expected = sdp.certify(run, geometry).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)


def test_a_schedule_is_read_step_by_step() -> None:
    made = session()
    scheduler = torch.optim.lr_scheduler.ExponentialLR(made.optimizer, 0.9)
    rates = []
    for _ in range(3):
        for x, y in made.loader:
            made.step(x, y)
            rates.append(float(scheduler.get_last_lr()[0]))
            scheduler.step()
    run = sdp.NoisyCGD(n=60, batch_size=10, epochs=3, learning_rate=rates, noise=0.14)
    expected = sdp.certify(run, sdp.Geometry(**CLASS)).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)
    assert len(made.accountant.history) == 18


def test_noise_is_read_step_by_step() -> None:
    made = session()
    multipliers = []
    for k, (x, y) in enumerate(made.loader):
        made.optimizer.noise_multiplier = 2.0 + 0.5 * k
        multipliers.append(2.0 + 0.5 * k)
        made.step(x, y)
    noise = [0.07 * multiplier for multiplier in multipliers]
    run = sdp.NoisyCGD(n=60, batch_size=10, epochs=1, learning_rate=0.5, noise=noise)
    expected = sdp.certify(run, sdp.Geometry(**CLASS)).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)


def test_an_unfinished_epoch() -> None:
    made = session().train(2)
    for k, (x, y) in enumerate(made.loader):
        made.step(x, y)
        if k == 3:
            break
    run = sdp.NoisyCGD(n=60, batch_size=10, steps=16, learning_rate=0.5, noise=0.14)
    expected = sdp.certify(run, sdp.Geometry(**CLASS)).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)


def test_full_batches_are_one_batch() -> None:
    made = session(batch_size=60, shuffle=True).train(5)
    run = sdp.NoisyGD(n=60, steps=5, learning_rate=0.5, noise=2 * 0.7 / 60)
    expected = sdp.certify(run, sdp.Geometry(**CLASS)).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)


def test_no_intercept_is_smoother() -> None:
    made = session(module=nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 1, bias=False))).train()
    _, geometry = made.accountant.described()
    assert geometry.smoothness == pytest.approx(0.25 + 0.1, rel=1e-5)


@pytest.mark.parametrize("settings", [{"grad_sample_mode": "functorch"}, {"wrap_model": False}])
def test_other_ways_to_the_same_gradients(settings: dict[str, Any]) -> None:
    module = nn.Linear(FEATURES, 1)
    made = session(module=module, **settings)
    made.module = module if "wrap_model" in settings else made.module
    assert made.train(2).engine.get_epsilon(DELTA) == session().train(2).engine.get_epsilon(DELTA)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_other_losses(loss: Any) -> None:
    declaration = Declaration(adjacency="zero_out", loss=loss, feature_bound=1.0)
    criterion = nn.MSELoss() if loss == "squared" else nn.HuberLoss()
    made = session(declaration, criterion=criterion, lr=0.3).train(2)
    _, geometry = made.accountant.described()
    curvature = {"squared": 2.0, "huber": 1.0}[loss]
    assert geometry.smoothness == pytest.approx(2 * curvature + 0.1, rel=1e-5)


# --- the example of docs/opacus.md ---


def test_opacus_quotes_a_poisson_epsilon_for_a_loader_that_is_none() -> None:
    """25 batches, 5 epochs, noise multiplier 2: 0.97 by Opacus, 4.98 by composition."""
    epsilons = {}
    for name in ("prv", "ours"):
        declaration = Declaration(adjacency="zero_out", bounds="composition")
        register(declaration, name="ours")
        engine = PrivacyEngine(accountant=name)
        module: Any = nn.Linear(FEATURES, 1)
        optimizer: Any = torch.optim.SGD(module.parameters(), lr=0.5)
        loader: Any = DataLoader(dataset(100), batch_size=4)
        module, optimizer, loader = engine.make_private(
            module=module,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=2.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        if name == "ours":
            loader = engine.accountant.attach(module, optimizer, loader)
        Session(engine, module, optimizer, loader, nn.BCEWithLogitsLoss()).train(5)
        epsilons[name] = engine.get_epsilon(DELTA)
    assert round(epsilons["prv"], 2) == 0.97
    assert round(epsilons["ours"], 2) == 4.98
    assert epsilons["ours"] == pytest.approx(
        sdp.GaussianTradeoff(math.sqrt(5) / 2).epsilon(DELTA), rel=1e-9
    )


# --- composition alone ---


@pytest.mark.parametrize("shuffle", [False, True])
def test_composition_asks_nothing_of_model_and_optimizer(shuffle: bool) -> None:
    module = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, 1))
    made = session(
        COMPOSED,
        module=module,
        optimizer=lambda m: torch.optim.Adam(m.parameters(), lr=1e-3),
        data=dataset(55),
        shuffle=shuffle,
    ).train(3)
    # a record is in one step of each epoch, whatever its position and the size of its batch
    expected = sdp.GaussianTradeoff(math.sqrt(3) / 2).epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)
    assert made.accountant.certificate().bound == "Thm mgd (composition)"


def test_composition_of_poisson_batches_is_what_opacus_says() -> None:
    made = session(COMPOSED, poisson_sampling=True, module=nn.Linear(FEATURES, 1)).train(5)
    prv = PrivacyEngine(accountant="prv").accountant
    prv.history = [(2.0, 1 / 6, 30)]
    error = 0.01  # theirs is an upper bound within this
    assert prv.get_epsilon(DELTA) - 2 * error < made.engine.get_epsilon(DELTA)
    assert made.engine.get_epsilon(DELTA) < prv.get_epsilon(DELTA) + 2e-3


# --- conventions ---


def test_what_cannot_be_watched_is_in_the_certificate() -> None:
    certificate = session().train().accountant.certificate()
    assert [item.name for item in certificate.assumptions[-2:]] == ["records", "gradients"]
    certificate.verify()
    sdp.Certificate.from_json(certificate.to_json()).verify()
    curved = Declaration(adjacency="zero_out", curvature=(0.0, 0.5), inputs="computed")
    names = [item.name for item in session(curved).train().accountant.certificate().assumptions]
    assert names[-4:] == ["records", "gradients", "inputs", "declared curvature"]


def test_empty_batches_are_steps() -> None:
    torch.manual_seed(0)
    made = session(data=dataset(6), batch_size=1, poisson_sampling=True)
    sizes = []
    for _ in range(5):
        for x, y in made.loader:
            sizes.append(len(x))
            made.step(x, y)
    assert min(sizes) == 0, "the test needs an empty batch"
    assert len(made.accountant) == 30
    assert all(bool(torch.isfinite(p).all()) for p in made.optimizer.params)


# --- calibration ---


@pytest.mark.parametrize(("shuffle", "poisson"), [(False, False), (True, False), (False, True)])
def test_make_private_with_epsilon(shuffle: bool, poisson: bool) -> None:
    made = session(
        calibrate=True,
        shuffle=shuffle,
        poisson_sampling=poisson,
        target_epsilon=1.0,
        target_delta=DELTA,
        epochs=3,
    ).train(3)
    # Opacus searches until it is this close
    assert 1.0 - 0.01 <= made.engine.get_epsilon(DELTA) <= 1.0


def test_last_iterate_needs_less_noise_than_composition() -> None:
    settings: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": DELTA, "epochs": 20}
    ours = session(calibrate=True, **settings).optimizer.noise_multiplier
    composed = session(COMPOSED, calibrate=True, **settings).optimizer.noise_multiplier
    assert ours < 0.5 * composed


def test_a_sum_is_calibrated_as_such() -> None:
    made = session(
        calibrate=True,
        loss_reduction="sum",
        criterion=nn.BCEWithLogitsLoss(reduction="sum"),
        target_epsilon=2.0,
        target_delta=DELTA,
        epochs=2,
        lr=0.05,
        weight_decay=0.5,
    ).train(2)
    assert 1.99 <= made.engine.get_epsilon(DELTA) <= 2.0


def test_no_step_is_lost_to_rounding() -> None:
    """3 / (1/75) is 224.99...: Opacus takes it for 224 steps, and the run has 225."""
    assert int(3 / (1 / 75)) == 224
    data = dataset(75)
    made = session(
        data=data,
        batch_size=1,
        calibrate=True,
        target_epsilon=3.0,
        target_delta=DELTA,
        epochs=3,
        epsilon_tolerance=1e-6,
    ).train(3)
    assert len(made.accountant) == 225
    assert 3.0 - 1e-6 <= made.engine.get_epsilon(DELTA) <= 3.0


def test_calibration_needs_a_plan() -> None:
    register(LOGISTIC, name="unplanned")
    with pytest.raises(sdp.UnmetHypothesis, match="register") as caught:
        get_noise_multiplier(
            target_epsilon=1.0,
            target_delta=DELTA,
            sample_rate=0.1,
            epochs=1,
            accountant="unplanned",
        )
    assert caught.value.name == "plan"


def test_half_a_plan_is_none() -> None:
    with pytest.raises(sdp.UnmetHypothesis, match="give all four") as caught:
        register(LOGISTIC, module=nn.Linear(2, 1), poisson_sampling=False)
    assert caught.value.name == "optimizer"


@pytest.mark.parametrize("change", ["learning_rate", "data_loader"])
def test_a_run_that_is_not_as_planned(change: str) -> None:
    made = session(calibrate=True, attach=False, target_epsilon=1.0, target_delta=DELTA, epochs=3)
    loader = made.loader
    if change == "learning_rate":
        made.optimizer.param_groups[0]["lr"] = 0.25
    else:
        loader = DataLoader(dataset(), batch_size=10, shuffle=True)
    with pytest.raises(sdp.UnmetHypothesis, match="not as registered") as caught:
        made.accountant.attach(made.module, made.optimizer, loader)
    assert caught.value.name == change


# --- history and checkpoints ---


def test_reading_epsilon_loses_nothing() -> None:
    read, unread = session(), session()
    for made in (read, unread):
        for _ in range(3):
            made.train()
            if made is read:
                made.engine.get_epsilon(DELTA)
                made.accountant.certificate()
    assert read.accountant.history == unread.accountant.history
    assert len(read.accountant) == 18
    assert read.engine.get_epsilon(DELTA) == unread.engine.get_epsilon(DELTA)


def test_nothing_has_run() -> None:
    made = session()
    assert made.engine.get_epsilon(DELTA) == 0.0
    assert len(made.accountant) == 0
    with pytest.raises(sdp.UnmetHypothesis, match="train first"):
        made.accountant.certificate()


def test_no_noise_is_no_privacy() -> None:
    assert session(noise_multiplier=0.0).train().engine.get_epsilon(DELTA) == math.inf


def test_state_survives() -> None:
    made = session(shuffle=True).train(2)
    state = made.accountant.state_dict()
    other = session(shuffle=True)
    other.accountant.load_state_dict(state)
    assert other.accountant.history == made.accountant.history
    assert other.engine.get_epsilon(DELTA) == made.engine.get_epsilon(DELTA)
    made.train()
    assert len(other.accountant) == 12, "the loaded history is a copy"


def test_checkpoints_of_opacus() -> None:
    made = session().train(2)
    file = io.BytesIO()
    made.engine.save_checkpoint(path=file, module=made.module, optimizer=made.optimizer)
    file.seek(0)
    other = session(attach=False)
    other.engine.load_checkpoint(path=file, module=other.module, optimizer=other.optimizer)
    assert other.engine.get_epsilon(DELTA) == made.engine.get_epsilon(DELTA)
    other.loader = other.accountant.attach(other.module, other.optimizer, other.loader)
    other.train()
    made.train()
    assert other.engine.get_epsilon(DELTA) == made.engine.get_epsilon(DELTA)


def test_a_checkpoint_in_the_middle_of_an_epoch() -> None:
    made = session()
    for k, (x, y) in enumerate(made.loader):
        made.step(x, y)
        if k == 2:
            break
    other = session(attach=False)
    other.accountant.load_state_dict(made.accountant.state_dict())
    other.loader = other.accountant.attach(other.module, other.optimizer, other.loader)
    assert other.engine.get_epsilon(DELTA) == made.engine.get_epsilon(DELTA)
    with pytest.raises(sdp.UnmetHypothesis, match="finish each pass"):
        other.train()


def test_a_checkpoint_of_another_declaration() -> None:
    state = session().train().accountant.state_dict()
    other = session(COMPOSED)
    with pytest.raises(sdp.UnmetHypothesis) as caught:
        other.accountant.load_state_dict(state)
    assert caught.value.name == "declaration"
    assert len(other.accountant) == 0


def test_a_checkpoint_of_another_accountant() -> None:
    made = session(name="another")
    with pytest.raises(ValueError, match="another"):
        session().accountant.load_state_dict(made.accountant.state_dict())
    with pytest.raises(ValueError, match="empty"):
        made.accountant.load_state_dict({})


def test_a_certificate_of_a_loop_has_a_statement() -> None:
    from shiftdp.privacy.statement import read_statement, statement_of

    certificate = session().train().accountant.certificate()
    page = statement_of(certificate, date="2026-01-31").html()
    assert "watched in each step by the plug-in" in page
    assert "a loop of the user&#x27;s own" in page
    assert read_statement(page).certificate.to_json() == certificate.to_json()
