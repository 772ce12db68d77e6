"""Where randomness comes from: the operating system, AES in counter mode, or, for tests, a seed.

A source is a frozen description that a plan carries; `open` makes the stream that one run uses up.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from shiftdp._checks import Array, count
from shiftdp._errors import ShiftdpError
from shiftdp.training.loss import Floats

__all__ = [
    "Aes",
    "Entropy",
    "MissingPackage",
    "Role",
    "Seeded",
    "Stream",
    "System",
    "normals",
    "short_normals",
]

Role = Literal["noise", "batches"]
Draw = Callable[[int], bytes]


class MissingPackage(ShiftdpError, ImportError):
    """An optional package that was asked for is not installed; the message names it."""


class Stream(ABC):
    """Random bytes, used up as they are drawn."""

    @abstractmethod
    def draw(self, size: int) -> bytes:
        """This many uniform bytes."""

    def fill(self, out: Floats) -> None:
        """Fill a contiguous array with independent standard normals."""
        flat = out.reshape(-1)
        make = short_normals if out.dtype == np.float32 else normals
        block = 1 << 15  # more would leave the cache, less be mostly calls, for which threads queue
        for start in range(0, flat.size, block):
            part = flat[start : start + block]
            part[...] = make(part.size, self.draw)

    def shares(self, out: Floats) -> list[Callable[[], object]]:
        """The same in parts that two threads may fill at once, each to be called once."""
        return [partial(self.fill, out)]


class Entropy(ABC):
    """A source of randomness."""

    @property
    @abstractmethod
    def private(self) -> bool:
        """Whether nobody can draw the same numbers again."""

    @abstractmethod
    def open(self, role: Role) -> Stream:
        """A fresh stream for one run."""


@dataclass(frozen=True)
class System(Entropy):
    """The operating system's generator, byte for byte: what `os.urandom` returns."""

    @property
    def private(self) -> bool:
        return True

    def open(self, role: Role) -> Stream:
        return _SystemStream()


@dataclass(frozen=True)
class Aes(Entropy):
    """AES-256 in counter mode, with a fresh key from the operating system for each stream.

    Faster than `System`, and as good as AES: it needs the package `cryptography`.
    """

    @property
    def private(self) -> bool:
        return True

    def open(self, role: Role) -> Stream:
        return _AesStream()


@dataclass(frozen=True)
class Seeded(Entropy):
    """Test mode: numbers that anybody with the seed can draw again. The run is not private.

    The certificate of a plan with this source says so.
    """

    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", count("seed", self.seed))

    @property
    def private(self) -> bool:
        return False

    def open(self, role: Role) -> Stream:
        return _SeededStream(self.seed, ("noise", "batches").index(role))


def normals(size: int, draw: Draw) -> Array:
    """Standard normals by the inverse normal distribution function at uniforms of 53 bits.

    The uniform is one of the 2^53 equally likely midpoints u of (0, 1), written as 2u - 1, which is
    exact: the inverse distribution function at u is sqrt(2) erfinv(2u - 1). Symmetric, never
    infinite, and at most 8.3.

    >>> normals(1, lambda size: bytes(size)) == -normals(1, lambda size: b"\\xff" * size)
    array([ True])
    """
    from scipy.special import erfinv

    x = np.add(np.frombuffer(draw(8 * size), dtype=np.int64) >> 11, 0.5, dtype=np.float64)
    x *= 2.0**-52
    erfinv(x, out=x)
    x *= math.sqrt(2.0)
    return np.asarray(x)


def short_normals(size: int, draw: Draw) -> Floats:
    """The same for single precision: uniforms of 32 bits, and of 64 in the outer 256th.

    In the body, |2u - 1| = |x| <= 1 - 2^-8, neighbouring values are 6e-10 to 4e-8 apart, and the
    inverse distribution function is x times a polynomial in log(1 - x^2), within 4e-7 of itself, a
    few roundings of single precision. In the tails, which reach to 9.1, SciPy computes it in
    double precision.
    """
    from scipy.special import ndtri

    x = np.add(np.frombuffer(draw(4 * size), dtype=np.int32), 0.5, dtype=np.float64)
    x *= 2.0**-31
    square = x * x
    tails = np.flatnonzero(square > (1.0 - 2.0**-8) ** 2)
    np.subtract(1.0, square, out=square)
    w = square.astype(np.float32)
    np.log(w, out=w)
    # on [-1, 1] where x is in the body
    w *= np.float32(2.0 / _DEPTH)
    w += np.float32(1.0)
    first, *others = _body()
    z = np.full(size, first, dtype=np.float32)
    for coefficient in others:
        z *= w
        z += coefficient
    z *= x.astype(np.float32)
    if tails.size:
        far = x[tails]
        # exact: P[|Z| > |z|] lies between two multiples of 2^-31, and 32 more bits choose where
        beyond = 1.0 - np.abs(far) - 2.0**-32
        rest = np.frombuffer(draw(4 * tails.size), dtype=np.uint32) + 0.5
        z[tails] = -np.sign(far) * ndtri(0.5 * (beyond + rest * 2.0**-63))
    return z


_DEPTH = -math.log1p(-((1.0 - 2.0**-8) ** 2))


@cache
def _body() -> tuple[np.float32, ...]:
    """sqrt(2) erfinv(x)/x as a polynomial in 1 + 2 log(1 - x^2)/_DEPTH, highest power first."""
    from numpy.polynomial import chebyshev
    from scipy.special import erfinv

    t = chebyshev.chebpts1(11)
    x = np.sqrt(-np.expm1((t - 1.0) * (_DEPTH / 2.0)))
    ratio = math.sqrt(2.0) * erfinv(x) / x
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, ratio, 10))
    return tuple(np.float32(power) for power in powers[::-1])


class _SystemStream(Stream):
    def draw(self, size: int) -> bytes:
        return os.urandom(size)

    def shares(self, out: Floats) -> list[Callable[[], object]]:
        flat = out.reshape(-1)
        middle = flat.size // 2
        return [partial(self.fill, flat[:middle]), partial(self.fill, flat[middle:])]


class _AesStream(Stream):
    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            raise MissingPackage(
                "AES noise needs the package cryptography: pip install cryptography, or leave the "
                "entropy to the operating system"
            ) from None
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._encryptor = cipher.encryptor()

    def draw(self, size: int) -> bytes:
        stream: bytes = self._encryptor.update(bytes(size))
        return stream


class _SeededStream(Stream):
    """Normals come from two generators in turn, so that two threads can draw them: the same
    numbers in the same order, however many are asked for at a time.
    """

    def __init__(self, seed: int, role: int) -> None:
        sequence = np.random.SeedSequence(seed, spawn_key=(role,))
        sequences = [sequence, *sequence.spawn(1)]
        self._generators = [np.random.Generator(np.random.SFC64(each)) for each in sequences]
        self._drawn = 0

    def draw(self, size: int) -> bytes:
        return self._generators[0].bytes(size)

    def fill(self, out: Floats) -> None:
        for share in self.shares(out):
            share()

    def shares(self, out: Floats) -> list[Callable[[], object]]:
        flat = out.reshape(-1)
        parts: tuple[list[Floats], list[Floats]] = ([], [])
        start = 0
        while start < flat.size:
            turn, inside = divmod(self._drawn, _TURN)
            end = min(flat.size, start + _TURN - inside)
            parts[turn % 2].append(flat[start:end])
            self._drawn += end - start
            start = end
        return [
            partial(_fill_all, generator, part)
            for generator, part in zip(self._generators, parts, strict=True)
            if part
        ]


_TURN = 1 << 14  # numbers from one generator, then as many from the other


def _fill_all(generator: np.random.Generator, parts: list[Floats]) -> None:
    for part in parts:
        generator.standard_normal(out=part, dtype=part.dtype)
