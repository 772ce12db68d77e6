"""Noise: the law, the resolution, and what each source promises."""

import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from shiftdp import InvalidInput
from shiftdp.training import Aes, Entropy, Seeded, System
from shiftdp.training.descent.entropy import MissingPackage, entropy_of, normals


def given(*answers: bytes):  # type: ignore[no-untyped-def]
    """A draw that returns these bytes, one after another, and insists on their sizes."""
    left = list(answers)

    def draw(size: int) -> bytes:
        answer = left.pop(0)
        assert len(answer) == size
        return answer

    return draw


@pytest.mark.parametrize("source", [System(), Seeded(3)], ids=repr)
def test_the_law_is_standard_normal(source: Entropy) -> None:
    n = 400_000
    z = np.empty(n)
    source.open("noise").fill(z)
    uniform = np.sort(ndtr(z))
    distance = np.abs(uniform - (np.arange(n) + 0.5) / n).max()
    # Kolmogorov and Smirnov: exceeded with probability 2 exp(-2 * 25/4) < 1e-5
    assert distance < 2.5 / np.sqrt(n)
    # fourth moment 3, its deviation sqrt(96/n): five of them
    assert abs((z**4).mean() - 3.0) < 5 * np.sqrt(96 / n)


def test_double_precision_uses_53_bits_at_midpoints() -> None:
    words = np.array([0, -1, 2**63 - 1, -(2**63), 2**62, 12345 << 30], dtype=np.int64)
    z = normals(words.size, given(words.tobytes()))
    with mpmath.workdps(40):
        x = [mpmath.mpf(2 * (int(word) >> 11) + 1) / 2**53 for word in words]
        exact = [float(mpmath.sqrt(2) * mpmath.erfinv(v)) for v in x]
    # SciPy's function is right to a few roundings
    assert z == pytest.approx(exact, rel=1e-14, abs=0)
    assert np.abs(z).max() < 8.3


def test_seeds_repeat_and_the_system_does_not() -> None:
    def drawn(source: Entropy) -> list[float]:
        z = np.empty(8)
        source.open("noise").fill(z)
        return z.tolist()

    assert drawn(Seeded(1)) == drawn(Seeded(1))
    assert drawn(Seeded(1)) != drawn(Seeded(2))
    assert drawn(System()) != drawn(System())
    assert Seeded(1).open("noise").draw(16) != Seeded(1).open("batches").draw(16)
    assert System().private
    assert Aes().private
    assert not Seeded(1).private
    with pytest.raises(InvalidInput):
        Seeded(-1)
    with pytest.raises(InvalidInput, match="number=0 is below 1"):
        Seeded(1).several(0)


def test_aes_says_what_it_needs() -> None:
    """Without the package, one error that names it; with it, fresh and normal numbers."""
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from shiftdp.training import Aes\n"
        "try: Aes().open('noise')\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.startswith("MissingPackage AES noise needs the package cryptography")
    try:
        first, second = (Aes().open("noise") for _ in range(2))
    except MissingPackage:
        return
    assert first.draw(32) != second.draw(32)
    assert first.draw(32) != first.draw(32)
    z = np.empty(100_000)
    first.fill(z)
    # five deviations
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert abs(z.var() - 1.0) < 5 * np.sqrt(2 / z.size)


def test_the_system_stream_is_urandom(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(size: int) -> bytes:
        asked.append(size)
        return bytes(range(256)) * (size // 256 + 1)

    monkeypatch.setattr(os, "urandom", lambda size: counted(size)[:size])
    System().open("noise").fill(np.empty(100))
    assert sum(asked) == 800


def test_a_random_state_is_a_seed_or_none_or_refused() -> None:
    assert entropy_of(None) == System()
    assert entropy_of(7) == entropy_of(np.int64(7)) == entropy_of(np.random.RandomState(7))
    assert entropy_of(7) != entropy_of(8)
    assert not entropy_of(np.random).private
    for wrong in (-1, 2**40, 1.5, "seed", np.random.default_rng(1)):
        with pytest.raises(InvalidInput, match="is no seed; give a whole number"):
            entropy_of(wrong)
