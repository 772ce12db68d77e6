"""Where randomness comes from: the operating system, AES in counter mode, or, for tests, a seed.

A source is a frozen description that a plan carries; `open` makes the stream that one run uses up.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
import scipy

from shiftdp._checks import Array, count
from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._rounding import ULP
from shiftdp.training.losses.base import Floats

Role = Literal["noise", "batches", "rows"]
Draw = Callable[[int], bytes]

_SEEDS = 2**31 - 1  # that a `random_state` draws from, as scikit-learn's estimators do
_BLOCK = 1 << 16  # numbers that are made together: half a megabyte, which stays in the cache


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
        for start in range(0, flat.size, _BLOCK):
            part = flat[start : start + _BLOCK]
            part[...] = normals(part.size, self.draw)


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

    def several(self, number: int) -> list[Seeded]:
        """Seeds for several runs: this one, then others that are made of it.

        >>> Seeded(3).several(2)
        [Seeded(seed=3), Seeded(seed=12467808127879573787)]
        """
        number = count("number", number, 1)
        others = np.random.SeedSequence(self.seed).generate_state(number - 1, np.uint64)
        return [self, *(Seeded(int(seed)) for seed in others)]

    def open(self, role: Role) -> Stream:
        return _SeededStream(self.seed, get_args(Role).index(role))


def entropy_of(random_state: Any) -> Entropy:
    """The operating system's randomness; or that of a seed, or a generator of NumPy's older kind,
    which is not private."""
    if random_state is None:
        return System()
    generator = np.random.mtrand._rand if random_state is np.random else random_state
    if isinstance(random_state, Integral):
        with suppress(ValueError):
            generator = np.random.RandomState(int(random_state))
    if not isinstance(generator, np.random.RandomState):
        raise InvalidInput(
            "random_state",
            random_state,
            "is no seed",
            "give a whole number from 0 to 4294967295, or none",
        )
    return Seeded(int(generator.randint(_SEEDS)))


def normals(size: int, draw: Draw) -> Array:
    """Standard normals by the inverse normal distribution function at uniforms of 53 bits.

    The uniform is one of the 2^53 equally likely midpoints u of (0, 1), written as 2u - 1, which is
    exact: the inverse distribution function at u is sqrt(2) erfinv(2u - 1). Symmetric, never
    infinite, and at most 8.3.

    >>> normals(1, lambda size: bytes(size)) == -normals(1, lambda size: b"\\xff" * size)
    array([ True])
    """
    x = np.add(np.frombuffer(draw(8 * size), dtype=np.int64) >> 11, 0.5, dtype=np.float64)
    x *= ULP  # 2^-52, a power of two: exact
    scipy.special.erfinv(x, out=x)
    x *= math.sqrt(2.0)
    return np.asarray(x)


class _SystemStream(Stream):
    def draw(self, size: int) -> bytes:
        return os.urandom(size)


KEYED = 48
"""Bytes of a secret that `keyed_stream` makes a stream of: a key and a counter."""


def keyed_stream(secret: bytes) -> Stream:
    """AES-256 in counter mode with this secret: the same bytes each time it is opened."""
    return _AesStream(secret)


class _AesStream(Stream):
    """A process that was forked takes a key of its own, unless it was given one: it would draw what
    its parent draws."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._given = secret is not None
        self._key(os.urandom(KEYED) if secret is None else secret)

    def _key(self, secret: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            raise MissingPackage(
                "AES noise needs the package cryptography: pip install cryptography, or leave the "
                "entropy to the operating system"
            ) from None
        cipher = Cipher(algorithms.AES(secret[:32]), modes.CTR(secret[32:]))
        self._encryptor, self._process = cipher.encryptor(), os.getpid()

    def draw(self, size: int) -> bytes:
        if os.getpid() != self._process and not self._given:
            self._key(os.urandom(KEYED))
        stream: bytes = self._encryptor.update(bytes(size))
        return stream


class _SeededStream(Stream):
    """Random bytes from a seed: equal seeds give equal bytes, however many are drawn at a time."""

    def __init__(self, seed: int, role: int) -> None:
        self._bits = np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(role,)))
        self._normals = np.random.Generator(self._bits)
        self._left = b""

    def draw(self, size: int) -> bytes:
        words = -(-(size - len(self._left)) // 8)
        if words > 0:
            self._left += self._bits.random_raw(words).tobytes()
        drawn, self._left = self._left[:size], self._left[size:]
        return drawn

    def fill(self, out: Floats) -> None:
        self._normals.standard_normal(out=out)
