"""What certified composition of width 1e-3 costs beside other accountants; goals in brackets.

C_p(G(2/3)), p = .025, t = 2000, 4000, 8000 at delta = 1e-5, and Poisson sampling; all in the same
run, processor time, set-up included:

- the two-sided interval against dp_accounting, fed with the same law on the coarsest lattice that
  has no larger upper error (it has no lower bound): 10 times;
- against one `rfft` and one `irfft` of its own grid, timed apart, each the best of many: 4 times.
  Two bounds take two `rfft`; the rest are some hundred calls of NumPy on few numbers;
- against the paper's route, prv_accountant with the symmetric law, at an error of 1e-3, in a
  process of its own (minutes and gigabytes; `--skip-paper` leaves it out): 2,000 times, in less
  than 150 MB;
- Poisson sampling, both directions, against Opacus' PRV accountant at eps_error 1e-3: 100 times;
- a tradeoff curve of 1,000 points, certified and by contour integration, against riskcal at its
  usual lattice of 1e-4, each with its largest error: 50 times. Once on the law above, which riskcal
  is given as a distribution, and once on what riskcal makes itself, Poisson sampling of a Gaussian,
  add and remove.

    python benchmarks/composition.py [--skip-paper]
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from _timing import best_of, print_table

import shiftdp as sdp
from shiftdp._checks import Array
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.contour.curve import estimate_tradeoff
from shiftdp.fdp.functions.poisson import PoissonZeroOut
from shiftdp.fdp.losses import loss_law

Call = Callable[[], Any]

P, MU, DELTA = 0.025, 2 / 3, 1e-5
STEP = sdp.GaussianTradeoff(MU).subsample(P)
EXACT = {2000: 4.438137906, 4000: 6.653814024, 8000: 10.113130500}
SAMPLED = {"rate": 0.01, "sigma": 1.0, "steps": 2000}
ALPHA = np.linspace(0.0, 1.0, 1000)


def interval(t: int, accuracy: float = 1e-3) -> tuple[float, float]:
    return Composite(((STEP, t),), accuracy).epsilon_interval(DELTA)


def transforms(t: int, accuracy: float) -> tuple[float, int]:
    """Seconds for one rfft and one irfft of the grid, and its size."""
    f = Composite(((STEP, t),), accuracy)
    f.epsilon_interval(DELTA)
    size = f._enclosures.narrow[0][-1].above.size
    signal = np.random.default_rng(0).random(size)
    spectrum = scipy.fft.rfft(signal)
    forth = best_of(lambda: scipy.fft.rfft(signal))
    return forth + best_of(lambda: scipy.fft.irfft(spectrum, size)), size


def composed(lattice: float, t: int) -> Any:
    """dp_accounting, fed with the same law."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    reach = math.log1p(P * math.expm1(0.5 * MU * MU + 9.5 * MU))
    m = math.ceil(reach / lattice)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        lattice, -m, m, np.asarray(STEP.delta(lattice * np.arange(-m, m + 1)))
    )
    return privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(t)


def pld(lattice: float, t: int) -> float:
    return float(composed(lattice, t).get_epsilon_for_delta(DELTA))


def against_dp_accounting() -> None:
    rows = []
    for t, exact in EXACT.items():
        low, high = interval(t)
        assert low < exact < high
        lattice = 5e-3
        while pld(lattice, t) - exact > high - exact:
            lattice *= 0.8
        ours = best_of(lambda t=t: interval(t))
        theirs = best_of(lambda t=t, lattice=lattice: pld(lattice, t))
        rows.append(
            [
                f"t = {t}",
                f"{1000.0 * ours:.2f}",
                f"{high - low:.1e}",
                f"{high - exact:.1e}",
                f"{lattice:.1e}",
                f"{1000.0 * theirs:.1f}",
                f"{theirs / ours:.0f}",
            ]
        )
    head = ["", "ms", "width", "upper error", "its lattice", "dp_accounting ms", "times (10)"]
    print_table(head, rows)


def against_transforms() -> None:
    rows = []
    for t, accuracy in (*((t, 1e-3) for t in EXACT), (32_000, 1e-3), (8000, 1e-4), (8000, 1e-5)):
        floor, size = transforms(t, accuracy)
        ours = best_of(lambda t=t, accuracy=accuracy: interval(t, accuracy))
        rows.append(
            [
                f"t = {t}, width {accuracy:g}",
                f"{size}",
                f"{1000.0 * floor:.2f}",
                f"{1000.0 * ours:.2f}",
                f"{ours / floor:.1f}",
            ]
        )
    print_table(["", "grid", "rfft + irfft ms", "ms", "times (4)"], rows)


def against_opacus() -> None:
    from opacus.accountants import PRVAccountant

    rate, sigma, steps = SAMPLED["rate"], SAMPLED["sigma"], int(SAMPLED["steps"])
    geometry = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
    run = sdp.NoisySGD(
        n=60_000, batch_size=600, steps=steps, learning_rate=0.1, noise=sigma / 600,
        sampling="poisson",
    )  # fmt: skip

    def prv() -> float:
        accountant = PRVAccountant()
        accountant.history = [(sigma, rate, steps)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(accountant.get_epsilon(DELTA, eps_error=1e-3))

    def ours() -> float:
        return sdp.certify(run, geometry, bounds="composition").epsilon(DELTA)

    fast, slow = best_of(ours), best_of(prv, 5.0)
    print(
        f"Poisson, p = {rate}, sigma = {sigma}, t = {steps}: {1e3 * fast:.1f} ms (eps <= "
        f"{ours():.4f}); Opacus PRV {1e3 * slow:.0f} ms (eps <= {prv():.4f}): "
        f"{slow / fast:.0f} times (100)"
    )


def against_riskcal() -> None:
    from riskcal.analysis import get_beta_from_pld
    from riskcal.calibration.dpsgd import get_beta_for_dpsgd

    step, steps = PoissonZeroOut(P, 0.0, MU), 2000
    directions = [(step, steps)], [(step.inverse(), steps)]

    def both(accuracy: float = 1e-3) -> Array:
        curves = [Composite(((f, k),), accuracy) for ((f, k),) in directions]
        return np.asarray(sdp.fdp.Minimum(curves)(ALPHA))

    def estimated() -> Array:
        found = estimate_tradeoff([(STEP, steps)], ALPHA)
        assert found is not None
        return found.value

    cases: list[tuple[str, Call, Call, Call]] = [
        (
            "C_p(G(2/3)), certified",
            lambda: Composite(((STEP, steps),))(ALPHA),
            lambda: get_beta_from_pld(composed(1e-4, steps), alpha=ALPHA),
            lambda: Composite(((STEP, steps),), 1e-6)(ALPHA),
        ),
        (
            "C_p(G(2/3)), estimate",
            estimated,
            lambda: get_beta_from_pld(composed(1e-4, steps), alpha=ALPHA),
            lambda: Composite(((STEP, steps),), 1e-6)(ALPHA),
        ),
        (
            "Poisson, both directions, certified",
            both,
            lambda: get_beta_for_dpsgd(1.0 / MU, P, steps, alpha=ALPHA),
            lambda: both(1e-6),
        ),
    ]
    rows = []
    for name, ours, theirs, exact in cases:
        truth = np.asarray(exact())
        errors = [float(np.max(np.abs(np.asarray(call()) - truth))) for call in (ours, theirs)]
        fast, slow = best_of(ours), best_of(theirs, 3.0)
        row = [name, f"{1e3 * fast:.2f}", f"{errors[0]:.0e}", f"{1e3 * slow:.0f}"]
        rows.append([*row, f"{errors[1]:.0e}", f"{slow / fast:.0f}"])
    head = ["1,000 points", "ms", "error", "riskcal ms", "its error", "times (50)"]
    print_table(head, rows)


# --- the paper's route, each side in a process of its own ----------------------------------------


def paper_route(t: int) -> tuple[float, float]:
    """prv_accountant on the symmetric law of [BSA24, Prop subgdpcdf]: the interval."""
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PrivacyRandomVariable

    law = loss_law(STEP).quadrature(-200.0, 100.0)

    class Symmetric(PrivacyRandomVariable):  # type: ignore[misc]
        def cdf(self, t: Array) -> Array:
            shape = np.shape(t)
            t = np.atleast_1d(np.asarray(t, dtype=np.float64)).ravel()
            delta, tail = STEP._tangents(np.abs(t))
            high = 1.0 - delta - np.exp(np.abs(t)) * tail
            return np.where(t >= 0.0, high, tail).reshape(shape)

        def rdp(self, alpha: float) -> float:
            return math.log1p(float(law.excess(alpha - 1.0))) / (alpha - 1.0)

    accountant = PRVAccountant(
        prvs=[Symmetric()], max_self_compositions=[t], eps_error=1e-3, delta_error=1e-10
    )
    low, _, high = accountant.compute_epsilon(DELTA, [t])
    return float(low), float(high)


def alone(side: str) -> None:
    """One side: seconds, megabytes and the interval."""
    route = paper_route if side == "paper" else interval
    low, high = route(2000)
    start = time.process_time()
    if side == "paper":
        seconds = start
    else:
        seconds = best_of(lambda: interval(2000))
    print(seconds, peak(), low, high)


def peak() -> float:
    """The most memory that this process had, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike ru_maxrss, this begins anew in a new process
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def against_the_paper() -> None:
    found = {}
    for side in ("ours", "paper"):
        command = [sys.executable, __file__, "--alone", side]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[side] = [float(word) for word in output.split()]
    rows = [
        [name, f"{seconds:.4f}", f"{megabytes:.0f}", f"[{low:.6f}, {high:.6f}]"]
        for name, (seconds, megabytes, low, high) in found.items()
    ]
    print_table(["t = 2000", "s", "MB", "interval"], rows)
    ratio = found["paper"][0] / found["ours"][0]
    print(f"{ratio:.0f} times (2,000), {found['ours'][1]:.0f} MB with all imports (150)")


def main() -> None:
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2])
        return
    against_dp_accounting()
    print()
    against_transforms()
    print()
    against_opacus()
    print()
    against_riskcal()
    if "--skip-paper" not in sys.argv:
        print()
        against_the_paper()


if __name__ == "__main__":
    try:
        main()
    except ImportError as missing:
        raise SystemExit(f"{missing}: pip install 'shiftdp[bench]'") from missing
