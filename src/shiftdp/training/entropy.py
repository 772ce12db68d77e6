"""Where randomness comes from: the operating system, AES in counter mode, or, for tests, a seed.

A source is a frozen description that a plan carries; `open` makes the stream that one run uses up.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, count
from shiftdp._errors import ShiftdpError
from shiftdp.training.loss import Floats

__all__ = [
    "Aes",
    "Entropy",
    "MissingPackage",
    "Opener",
    "Role",
    "Seeded",
    "Stream",
    "System",
    "normals",
    "normals_of",
    "short_normals",
]

Role = Literal["noise", "batches"]
Draw = Callable[[int], bytes]

_BLOCK = 1 << 16  # numbers made together: more would leave the cache, less be mostly calls


class MissingPackage(ShiftdpError, ImportError):
    """An optional package that was asked for is not installed; the message names it."""


class Stream(ABC):
    """Random bytes, used up as they are drawn."""

    @abstractmethod
    def draw(self, size: int) -> bytes:
        """This many uniform bytes."""

    def draw_more(self, size: int) -> bytes:
        """Bytes for the tails of normals of single precision.

        A stream that can be repeated has others for them: the numbers are then the same, however
        many are made at a time.
        """
        return self.draw(size)

    def fill(self, out: Floats, compiled: Any = None) -> None:
        """Fill a contiguous array with independent standard normals.

        Args:
            compiled: the module of that name, if there is numba and the plan is worth it.
        """
        flat = out.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            part = flat[start : start + _BLOCK]
            if part.dtype == np.float32:
                part[...] = short_normals(part.size, self.draw, self.draw_more, compiled)
            else:
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


Opener = Callable[[Role], Stream]
"""What opens the streams of one run: `Entropy.open`."""


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


def short_normals(size: int, draw: Draw, more: Draw, compiled: Any = None) -> Floats:
    """The same for single precision: uniforms of 32 bits, and of 64 in the outer 256th.

    With a whole number r of 32 bits, x = 2u - 1 = (r + 1/2) 2^-31. In the body, |x| < 1 - 2^-8,
    neighbouring values are 6e-10 to 4e-8 apart, and the inverse distribution function is x times a
    polynomial in log(1 - x^2) = log((1 - |x|)(1 + |x|)), within 4e-7 of itself, a few roundings of
    single precision. In the tails, which reach to 9.1, SciPy computes it in double precision.
    """
    r = np.frombuffer(draw(4 * size), dtype=np.int32)
    return normals_of(r, lambda tails: more(4 * tails.size), compiled)


def normals_of(
    r: NDArray[np.int32], more: Callable[[NDArray[np.intp]], bytes], compiled: Any
) -> Floats:
    """These normals, of uniform whole numbers.

    Args:
        more: four more bytes for each of the places that it is given.
    """
    if compiled is None:
        z, tails = _by_numpy(r)
    else:
        z = np.empty(r.size, dtype=np.float32)
        tails = compiled.normals_body(r, _body(), _DEPTH, _OUTER, z)
    if tails.size:
        z[tails] = _tails(r[tails], more(tails))
    return z


def _by_numpy(r: NDArray[np.int32]) -> tuple[Floats, NDArray[np.intp]]:
    """The normals in the body, and where the others are."""
    inward = r >> 31
    inward ^= r
    np.subtract(_LAST, inward, out=inward)  # (1 - |x|) 2^31 - 1/2
    tails = np.flatnonzero(inward < _OUTER)
    w = np.multiply(inward, np.float32(2.0**-31), dtype=np.float32)
    z: Floats = np.subtract(np.float32(2.0), w)
    w *= z
    first, second, *others = _body()
    with np.errstate(divide="ignore", invalid="ignore"):  # at the end of the tails
        np.log(w, out=w)
        # on [-1, 1] where x is in the body
        w *= np.float32(2.0 / _DEPTH)
        w += np.float32(1.0)
        np.multiply(w, first, out=z)
        z += second
        for coefficient in others:
            z *= w
            z += coefficient
    z *= np.add(r, np.float32(0.5), out=w, dtype=np.float32)
    return z, tails


def _tails(r: NDArray[np.int32], more: bytes) -> Array:
    from scipy.special import ndtri

    x = (r + 0.5) * 2.0**-31
    # exact: P[|Z| > |z|] lies between two multiples of 2^-31, and 32 more bits choose where
    beyond = 1.0 - np.abs(x) - 2.0**-32
    rest = np.frombuffer(more, dtype=np.uint32) + 0.5
    return np.asarray(-np.sign(x) * ndtri(0.5 * (beyond + rest * 2.0**-63)))


_LAST = np.int32(2**31 - 1)
_OUTER = np.int32(2**23)  # 2^31 times the 256th that the tails are
_DEPTH = -math.log1p(-((1.0 - 2.0**-8) ** 2))


@cache
def _body() -> tuple[np.float32, ...]:
    """sqrt(2) erfinv(x)/x as a polynomial in 1 + 2 log(1 - x^2)/_DEPTH, highest power first, times
    2^-31: it is multiplied by r + 1/2."""
    from numpy.polynomial import chebyshev
    from scipy.special import erfinv

    t = chebyshev.chebpts1(10)
    x = np.sqrt(-np.expm1((t - 1.0) * (_DEPTH / 2.0)))
    ratio = math.sqrt(2.0) * erfinv(x) / x
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, ratio, 9))
    return tuple(np.float32(power * 2.0**-31) for power in powers[::-1])


class _SystemStream(Stream):
    def draw(self, size: int) -> bytes:
        return os.urandom(size)


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
    """The same numbers in the same order, however many are asked for at a time."""

    def __init__(self, seed: int, role: int) -> None:
        sequence = np.random.SeedSequence(seed, spawn_key=(role,))
        self._bits, self._more = (np.random.SFC64(each) for each in (sequence, *sequence.spawn(1)))
        self._double = np.random.Generator(self._bits)
        self._left = b""

    def draw(self, size: int) -> bytes:
        words = -(-(size - len(self._left)) // 8)
        if words > 0:
            self._left += self._bits.random_raw(words).tobytes()
        drawn, self._left = self._left[:size], self._left[size:]
        return drawn

    def draw_more(self, size: int) -> bytes:
        words: NDArray[np.uint64] = self._more.random_raw(size // 4)
        return words.astype(np.uint32).tobytes()

    def fill(self, out: Floats, compiled: Any = None) -> None:
        if out.dtype == np.float32:
            super().fill(out, compiled)
        else:
            self._double.standard_normal(out=out)
