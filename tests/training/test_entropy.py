"""Noise: the law, the resolution, and what each source promises."""

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erfinv, ndtr, ndtri

from shiftdp import InvalidInput
from shiftdp.training import Aes, Entropy, Seeded, System
from shiftdp.training.entropy import MissingPackage, normals, short_normals
from shiftdp.training.gradient import Parameters
from shiftdp.training.noise_feed import NoiseFeed, StackNoise


def given(*answers: bytes):  # type: ignore[no-untyped-def]
    """A draw that returns these bytes, one after another, and insists on their sizes."""
    left = list(answers)

    def draw(size: int) -> bytes:
        answer = left.pop(0)
        assert len(answer) == size
        return answer

    return draw


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("source", [System(), Seeded(3)], ids=repr)
def test_the_law_is_standard_normal(source: Entropy, dtype: type) -> None:
    n = 400_000
    z: NDArray[Any] = np.empty(n, dtype=dtype)
    source.open("noise").fill(z)
    uniform = np.sort(ndtr(z.astype(np.float64)))
    distance = np.abs(uniform - (np.arange(n) + 0.5) / n).max()
    # Kolmogorov and Smirnov: exceeded with probability 2 exp(-2 * 25/4) < 1e-5
    assert distance < 2.5 / np.sqrt(n)
    # fourth moment 3, its deviation sqrt(96/n): five of them
    assert abs((z.astype(np.float64) ** 4).mean() - 3.0) < 5 * np.sqrt(96 / n)


def test_double_precision_uses_53_bits_at_midpoints() -> None:
    words = np.array([0, -1, 2**63 - 1, -(2**63), 2**62, 12345 << 30], dtype=np.int64)
    z = normals(words.size, given(words.tobytes()))
    with mpmath.workdps(40):
        x = [mpmath.mpf(2 * (int(word) >> 11) + 1) / 2**53 for word in words]
        exact = [float(mpmath.sqrt(2) * mpmath.erfinv(v)) for v in x]
    # SciPy's function is right to a few roundings
    assert z == pytest.approx(exact, rel=1e-14, abs=0)
    assert np.abs(z).max() < 8.3


def test_single_precision_follows_the_inverse_function() -> None:
    words = np.arange(-(2**31), 2**31, 10_007, dtype=np.int64).astype(np.int32)
    x = (words.astype(np.float64) + 0.5) * 2.0**-31
    body = np.abs(x) <= 1 - 2**-8
    more = np.full(np.count_nonzero(~body), 2**31, dtype=np.uint32)
    z = short_normals(words.size, given(words.tobytes()), given(more.tobytes()))
    assert z.dtype == np.float32
    exact = np.sqrt(2.0) * erfinv(x)
    assert np.abs(z / exact - 1).max() < 4e-7


def test_tails_of_single_precision_have_64_bits() -> None:
    words = np.array([2**31 - 1, -(2**31)], dtype=np.int32)
    low = short_normals(2, given(words.tobytes()), given(bytes(8)))
    high = short_normals(2, given(words.tobytes()), given(b"\xff" * 8))
    assert low == pytest.approx([-ndtri(2.0**-65), ndtri(2.0**-65)], rel=1e-7)
    assert high == pytest.approx([-ndtri(2.0**-32), ndtri(2.0**-32)], rel=1e-6)


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


@pytest.mark.parametrize(("size", "steps"), [(3, 1), (50_000, 7), (200_000, 3)])
@pytest.mark.parametrize("ahead", [True, False])
def test_the_feed_is_the_stream_in_order(size: int, steps: int, ahead: bool) -> None:
    plain = np.empty((steps, size))
    Seeded(5).open("noise").fill(plain)
    dtype = np.dtype(np.float64)
    with NoiseFeed(Seeded(5).open("noise"), size, steps, dtype, ahead=ahead) as feed:
        fed = np.stack([feed.step().copy() for _ in range(steps)])
        held = feed.step.__self__._buffers[0]  # type: ignore[attr-defined]
        with pytest.raises(StopIteration):
            feed.step()
    assert (fed == plain).all()
    assert not held.any()


def test_the_noise_of_a_stack_is_that_of_its_models() -> None:
    at = Parameters(2, 3, 4, True, np.dtype(np.float32))
    alone = Parameters(1, 3, 4, True, np.dtype(np.float32))
    feeds = [
        NoiseFeed(Seeded(k).open("noise"), alone.flat.size, 5, alone.flat.dtype) for k in (1, 2)
    ]
    with StackNoise([Seeded(k).open("noise") for k in (1, 2)], at) as noise, ExitStack() as opened:
        for feed in feeds:
            opened.enter_context(feed)
        for _ in range(5):
            at.flat[:] = noise.step()
            for model, feed in zip(at.models(), feeds, strict=True):
                alone.flat[:] = feed.step()
                assert (model == alone.models()[0]).all()


def test_the_system_stream_is_urandom(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(size: int) -> bytes:
        asked.append(size)
        return bytes(range(256)) * (size // 256 + 1)

    monkeypatch.setattr(os, "urandom", lambda size: counted(size)[:size])
    System().open("noise").fill(np.empty(100))
    assert sum(asked) == 800
