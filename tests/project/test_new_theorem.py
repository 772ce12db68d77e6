"""A theorem is added by one file, beside its test and its statement: nothing else is touched.

A copy of the repository gets these three, and all that asks for theorems knows the new one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

THEOREM = '''
"""Theorem Z1: noisy gradient descent on losses of one curvature is affine in the iterate."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.runs import NoisyGD
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import AnyProof
from shiftdp.last_iterate.theorems.theorem import Bound, Prospect, Theorem


@dataclass(frozen=True)
class Sums(AnyProof):
    drift: float
    energy: float
    form = forms.fields_of({"drift": forms.NOT_NEGATIVE, "energy": forms.POSITIVE})


class _OneCurvature(Theorem):
    name = citation = "Theorem Z1"
    anchor = "theorem-z1-one-curvature"
    family = "ours"
    runs = (NoisyGD,)
    proof_type = Sums

    def prospect(self, run, geometry, delta, rival):
        return Prospect.UNBEATEN

    def bound(self, run, geometry, delta):
        m, M = geometry.strong_convexity, geometry.smoothness
        if m != M or geometry.bounded or not isinstance(run.noise, float):
            raise UnmetHypothesis("strong_convexity", m, "is not the smoothness", "use B1")
        powers = (1 - run.learning_rate * m) ** np.arange(run.steps)
        drift, energy = abs(float(powers.sum())), float(np.square(powers).sum())
        proofs = (Sums(drift * (1 + 1e-12), energy * (1 - 1e-12)),)
        return Bound(self, self.rebuild(run, geometry, proofs, 1.0), proofs)

    def rebuild(self, run, geometry, proofs, accuracy):
        (sums,) = proofs
        mu = geometry.sensitivity / (run.n * run.noise) * sums.drift / sums.energy**0.5
        return GaussianTradeoff(mu * (1 + 1e-15))

    def hypotheses(self, run, geometry, proofs):
        return (
            given.smooth_losses(geometry),
            given.sensitivity(geometry),
            given.adjacency(geometry),
            given.GAUSSIAN_NOISE,
            given.hidden_iterates(),
        )

    def check(self, claim):
        run, geometry = claim.run, claim.geometry
        require(len(claim.proofs) == 1, "it has no sums")
        (sums,) = claim.proofs
        a = 1 - Fraction(run.learning_rate) * Fraction(geometry.smoothness)
        powers = [a**k for k in range(run.steps)]
        require(abs(sum(powers)) <= sums.drift, "the means are further apart")
        require(sum(power**2 for power in powers) >= sums.energy, "there is less noise")
        require(claim.f == self.rebuild(run, geometry, claim.proofs, 1.0), "it is another mu")


THEOREMS = (_OneCurvature(),)
'''

TEST = """
from shiftdp.last_iterate import Geometry
from tests.last_iterate.theorems import usual

FLAT = Geometry(strong_convexity=4.0, smoothness=4.0, sensitivity=3.0)
EXAMPLES: usual.Examples = {"Theorem Z1": (usual.GD, FLAT)}
"""

STATEMENT = "\n### Theorem Z1: one curvature\n\nTheorem Z1, as it is proved on another page.\n"

USE = """
import json
import shiftdp as sdp
from docs.site.theorem_index import entries
from shiftdp.last_iterate import THEOREMS
from shiftdp.last_iterate.certificate_schema import written
from shiftdp.last_iterate.theorems.curvature import Sums

names = [theorem.name for theorem in THEOREMS]
for derived in ("{}", "Group privacy of {}", "Theorem V3 (after {})"):
    assert derived.format("Theorem Z1") in names

run = sdp.NoisyGD(n=100, steps=20, learning_rate=1.5, noise=0.05)
flat = sdp.Geometry(strong_convexity=1, smoothness=1, sensitivity=5)
cert = sdp.certify(run, flat)
assert (cert.bound, cert.kind, round(cert.mu, 6)) == ("Theorem Z1", "certified", 0.577350)
assert sdp.compare(run, flat, delta=1e-5)["best"].bound == "Theorem Z1"

cert.verify()
read = sdp.Certificate.from_json(cert.to_json())
assert read == cert and isinstance(read.proofs[0], Sums)
read.verify()
forged = json.loads(cert.to_json())
forged["proofs"][0]["drift"] *= 0.9
try:
    sdp.Certificate.from_json(json.dumps(forged)).verify()
except sdp.VerificationFailed as refusal:
    assert "further apart" in str(refusal)
else:
    raise AssertionError("a forged proof was taken")

assert Sums.form in json.loads(written())["$defs"]["proof"]["oneOf"]
(entry,) = (each for each in entries() if each.name == "Theorem Z1")
assert entry.file == "src/shiftdp/last_iterate/theorems/curvature.py"
assert entry.test == "tests/last_iterate/theorems/test_curvature.py"
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with one theorem more: its file, its test and its statement."""
    copy = tmp_path_factory.mktemp("repository")
    for part in ("src/shiftdp", "tests", "docs/site"):
        shutil.copytree(ROOT / part, copy / part)
    shutil.copy(ROOT / "pyproject.toml", copy)
    theory = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    (copy / "docs" / "theory.md").write_text(theory + STATEMENT, encoding="utf-8")
    (copy / "src/shiftdp/last_iterate/theorems/curvature.py").write_text(THEOREM)
    (copy / "tests/last_iterate/theorems/test_curvature.py").write_text(TEST)
    return copy


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join((str(copy / "src"), str(copy)))
    surroundings = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=copy, env=surroundings, capture_output=True, text=True)


def test_everything_that_asks_for_theorems_knows_the_new_one(copy: Path) -> None:
    done = run(copy, "-c", USE)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_conformance_suite_takes_it_in(copy: Path) -> None:
    suite = "tests/last_iterate/theorems/test_conformance.py"
    done = run(copy, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", "-k", "Z1", suite)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
