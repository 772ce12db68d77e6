"""Opacus: an accountant for the last iterate, registered under a name.

Needs `pip install shiftdp[opacus]`.

    register(Declaration(adjacency="zero_out", loss="logistic", feature_bound=1.0))
    engine = PrivacyEngine(accountant="shiftdp")
    module, optimizer, loader = engine.make_private(...)
    loader = engine.accountant.attach(module, optimizer, loader)

Learning rate, weight decay, clip, noise and batch are read at each step. What is certified is the
*last* iterate: no earlier one may leave the process, be it as a checkpoint or for early stopping.
The arithmetic is taken to be exact, as everywhere in accounting: Opacus computes in single
precision, and its noise and batches come from a pseudo-random generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certification import certify
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisyCGD, NoisySGD
from shiftdp.last_iterate.theorems.theorem import DELTA
from shiftdp.privacy.opacus.run import (
    Declaration,
    LoaderReading,
    StepReading,
    described,
    refuse_change,
    refuse_loader,
)

try:
    from opacus.accountants.accountant import IAccountant
    from opacus.accountants.registry import register_accountant

    from shiftdp.privacy.opacus import reading
    from shiftdp.privacy.opacus.inputs import WatchedInputs
    from shiftdp.privacy.opacus.parameters import WatchedParameters
    from shiftdp.privacy.opacus.probes import Probes
    from shiftdp.privacy.opacus.residuals import WatchedScores, refuse_other_loss
    from shiftdp.privacy.opacus.softmax import refuse_clip, refuse_clipped_softmax
    from shiftdp.privacy.opacus.watch import WatchedLoader
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "shiftdp.privacy.opacus needs Opacus: pip install shiftdp[opacus]"
    ) from missing

__all__ = ["Declaration", "LastIterateAccountant", "Plan", "register"]


@dataclass(frozen=True)
class Plan:
    """What is going to run, so that noise can be calibrated before it does."""

    loader: LoaderReading
    step: StepReading
    intercept: bool


def register(
    declaration: Declaration,
    *,
    name: str = "shiftdp",
    module: Any = None,
    optimizer: Any = None,
    data_loader: Any = None,
    poisson_sampling: bool | None = None,
    loss_reduction: str = "mean",
) -> None:
    """Make `PrivacyEngine(accountant=name)` account for the last iterate.

    Args:
        declaration: what is assumed of the loss.
        name: registered anew if it is known already.
        module, optimizer, data_loader, poisson_sampling, loss_reduction: what will be given to
            `make_private_with_epsilon`, which asks for the noise before it has seen them. Not
            needed for `make_private`.
    """
    given = (module, optimizer, data_loader, poisson_sampling)
    if all(value is None for value in given):
        plan = None
    elif any(value is None for value in given):
        names = ("module", "optimizer", "data_loader", "poisson_sampling")
        lacking = [n for n, value in zip(names, given, strict=True) if value is None]
        raise UnmetHypothesis(
            lacking[0], None, "is not known, and noise depends on it", "give all four, or none"
        )
    else:
        plan = _planned(declaration, module, optimizer, data_loader, bool(poisson_sampling))
        if loss_reduction == "sum":
            plan = replace(plan, step=replace(plan.step, divisor=1.0))
    make = partial(LastIterateAccountant, declaration, name=name, plan=plan)
    register_accountant(name, make, force=True)


def _planned(
    declaration: Declaration, module: Any, optimizer: Any, data_loader: Any, poisson: bool
) -> Plan:
    loader = reading.read_loader(data_loader, poisson_sampling=poisson)
    refuse_loader(declaration, loader)
    reading.refuse_collating(data_loader, declaration)
    linear = reading.read_model(module, declaration)
    rate, decay = reading.read_settings(optimizer, declaration)
    # as Opacus has it, of its own loader, whose number of batches may be rounded down
    batches = int(1 / loader.rate) if poisson else len(data_loader)
    divisor = int(len(data_loader.dataset) * (1 / batches))
    step = StepReading(rate, decay, 1.0, 1.0, float(divisor))
    return Plan(loader, step, linear is not None and linear.bias is not None)


@dataclass(frozen=True)
class _Attached:
    module: Any
    optimizer: Any
    watched: WatchedLoader
    linear: Any
    scores: WatchedScores
    parameters: WatchedParameters


class LastIterateAccountant(IAccountant):  # type: ignore[misc]
    """The privacy of the last iterate of what a DPOptimizer did, step by step.

    Made by Opacus, after `register`. `history` has an entry (noise multiplier, sample rate, steps,
    learning rate, weight decay, clip, divisor) for each stretch of equal steps; reading epsilon
    leaves it alone.
    """

    def __init__(
        self, declaration: Declaration, *, name: str = "shiftdp", plan: Plan | None = None
    ) -> None:
        self.history: list[tuple[float, ...]] = []
        self.declaration = declaration
        self._name = name
        self._plan = plan
        self._loader: LoaderReading | None = None
        self._intercept = False
        self._attached: _Attached | None = None
        self._checks: list[Any] = []
        self._probes = Probes()

    def mechanism(self) -> str:
        return self._name

    def __len__(self) -> int:
        return int(sum(entry[2] for entry in self.history))

    # --- what is run ---

    def attach(self, module: Any, optimizer: Any, data_loader: Any) -> WatchedLoader:
        """Watch what `make_private` returned; loop over the loader that this returns.

        Everything that can be refused before the first step is.
        """
        declaration = self.declaration
        linear = reading.read_model(module, declaration)
        loader = reading.read_loader(data_loader)
        refuse_loader(declaration, loader)
        reading.refuse_collating(data_loader, declaration)
        if self._loader not in (None, loader):
            raise UnmetHypothesis(
                "data_loader", loader, f"is not the one so far, {self._loader}", "use the same"
            )
        now = self._read(optimizer, stepping=False)
        self._refuse_other_plan(now, loader)
        if linear is not None and declaration.linear:
            _refuse_parameters(optimizer, linear)
            refuse_clip(linear, declaration, now.max_grad_norm)
        for check in self._checks:
            check.remove()
        inputs = WatchedInputs(computed=declaration.inputs == "computed")
        inner = reading.inner_of(module)
        self._checks = [inner.register_forward_pre_hook(inputs.hook, with_kwargs=True)]
        if linear is not None:
            check = reading.check_features(declaration)
            self._checks.append(linear.register_forward_pre_hook(check))
        scores = WatchedScores()
        if linear is not None and declaration.compared:
            self._checks.append(linear.register_forward_hook(scores.hook))
        self._loader = loader
        self._intercept = linear is not None and linear.bias is not None
        watched = WatchedLoader(data_loader, loader, self.__len__, inputs)
        before = None if self._attached is None else self._attached.parameters
        parameters = WatchedParameters(optimizer, declaration, before)
        self._checks.append(parameters)
        self._attached = _Attached(module, optimizer, watched, linear, scores, parameters)
        return watched

    def _refuse_other_plan(self, now: StepReading, loader: LoaderReading) -> None:
        """Refuse a run that is not the one that the noise was calibrated for."""
        if self._plan is None:
            return
        pairs: list[tuple[str, Any, Any]] = [("data_loader", self._plan.loader, loader)]
        for name in ("learning_rate", "weight_decay", "divisor"):
            pairs.append((name, getattr(self._plan.step, name), getattr(now, name)))
        for name, planned, found in pairs:
            if planned != found:
                raise UnmetHypothesis(
                    name, found, f"is not as registered, {planned}", "register what is run"
                )

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What Opacus calls before each step: it reads, and refuses before the step is taken."""

        def hook(optimizer: Any) -> None:
            attached = self._attached
            if attached is None or attached.optimizer is not optimizer:
                raise UnmetHypothesis(
                    "optimizer",
                    type(optimizer).__name__,
                    "makes a step, and its loader has not been shown",
                    "call accountant.attach(module, optimizer, data_loader) after make_private",
                )
            now = self._read(optimizer, stepping=True)
            records = reading.check_records(optimizer, self.declaration)
            attached.watched.refuse_step(records)
            refuse_clipped_softmax(attached.module, optimizer, self.declaration)
            calls = attached.scores.taken()
            if self.declaration.compared:
                refuse_clip(attached.linear, self.declaration, now.max_grad_norm)
                batch = attached.watched.batch
                clip = now.max_grad_norm
                refuse_other_loss(attached.linear, calls, self.declaration, clip, batch)
            attached.parameters.refuse_moved()
            self._append(now, sample_rate)

        return hook

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        raise UnmetHypothesis(
            "noise_multiplier",
            noise_multiplier,
            "does not tell what a step does: learning rate, weight decay and clip count too",
            "let the optimizer call the hook that Opacus attaches",
        )

    def _read(self, optimizer: Any, *, stepping: bool) -> StepReading:
        now = reading.read_step(optimizer, self.declaration, stepping=stepping)
        if self.history and self._loader is not None:
            refuse_change(self.declaration, _reading_of(self.history[0]), now)
        return now

    def _append(self, now: StepReading, sample_rate: float) -> None:
        settings = (now.learning_rate, now.weight_decay, now.max_grad_norm, now.divisor)
        entry = (now.noise_multiplier, sample_rate, 1, *settings)
        if self.history:
            last = self.history[-1]
            if (last[:2], last[3:]) == (entry[:2], entry[3:]):
                self.history[-1] = (*last[:2], last[2] + 1, *last[3:])
                return
        self.history.append(entry)

    # --- what it costs ---

    def described(self) -> tuple[NoisyCGD | NoisySGD, Geometry]:
        """The run so far and its geometry, in the conventions of shiftdp."""
        if self.history and len(self.history[0]) == 3:
            return self._as_planned()
        if self._loader is None or not self.history:
            raise UnmetHypothesis("steps", 0, "have been made", "train first")
        steps = [(_reading_of(entry), int(entry[2])) for entry in self.history]
        return described(self.declaration, self._loader, steps, self._intercept)

    def _as_planned(self) -> tuple[NoisyCGD | NoisySGD, Geometry]:
        """The planned run, with the noise that `get_noise_multiplier` put into the history."""
        plan = self._plan
        if plan is None:
            raise UnmetHypothesis(
                "plan",
                None,
                "is given, so that noise cannot be calibrated",
                "give module, optimizer, data_loader and poisson_sampling to register",
            )
        ((noise_multiplier, _, steps),) = self.history
        batches = plan.loader.batches
        # epochs / (1 / batches) may have been rounded down to one step less
        t = int(steps) + 1 if (steps + 1) % batches == 0 else int(steps)
        step = replace(plan.step, noise_multiplier=float(noise_multiplier))
        return described(self.declaration, plan.loader, [(step, t)], plan.intercept)

    def certificate(self, *, delta: float = DELTA) -> Certificate:
        """The certificate of the run so far, its last iterate being the only one released."""
        run, geometry = self.described()
        found = certify(run, geometry, bounds=self.declaration.bounds, delta=delta)
        return replace(found, assumptions=(*found.assumptions, *self.declaration.assumptions))

    def get_epsilon(self, delta: float) -> float:
        """A certified bound for the run so far; it changes nothing."""
        if not self.history:
            return 0.0
        if any(entry[0] == 0.0 for entry in self.history):
            return math.inf
        epsilon = self.certificate(delta=delta).epsilon(delta)
        if len(self.history[0]) > 3:
            return epsilon
        return self._probes.bridged(float(self.history[0][0]), epsilon)

    # --- checkpoints ---

    def state_dict(self, destination: Any = None) -> Any:
        state = super().state_dict(destination)
        state["declaration"] = asdict(self.declaration)
        state["loader"] = None if self._loader is None else asdict(self._loader)
        state["intercept"] = self._intercept
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        before = self.history
        super().load_state_dict(state_dict)
        declared = Declaration(**state_dict["declaration"])
        if declared != self.declaration:
            self.history = before
            raise UnmetHypothesis(
                "declaration", declared, f"is not the one here, {self.declaration}", "declare it"
            )
        self.history = deepcopy(list(state_dict["history"]))
        loader = state_dict["loader"]
        self._loader = None if loader is None else LoaderReading(**loader)
        self._intercept = bool(state_dict["intercept"])
        self._attached = None  # the loader of another process is not this one's


def _reading_of(entry: tuple[float, ...]) -> StepReading:
    noise_multiplier, _, _, rate, decay, clip, divisor = entry
    return StepReading(rate, decay, noise_multiplier, clip, divisor)


def _refuse_parameters(optimizer: Any, linear: Any) -> None:
    own = {id(p) for p in linear.parameters()}
    if any(id(p) not in own for p in optimizer.params):
        raise UnmetHypothesis(
            "optimizer", type(optimizer).__name__, "trains more than the linear map", "give its own"
        )
