"""What rounding may add to the effect of one record: sums over a batch, with the proof.

All numbers of the training loop are IEEE double precision (float64), whatever the features are
stored in. Records are summed in chunks of at most `CHUNK`, in any order inside of a chunk, and the
sums of chunks are added up, in any order.

Theorem F1 [docs/threat_model.md]. Let N records have feature vectors x_i (as the products see them:
in float64, scaled to the bound, with their constant) and residuals g_i at their computed scores,
|g_i| |x_i| <= G, of which the computed ones are within rho |g_i|, or rho times their limit. The
computed sum s of the outer products satisfies

    |s - sum_i g_i x_i^T| <= (gamma_k (1 + rho) + rho) N G   (Frobenius norm),

where gamma_k = k u / (1 - k u), u = 2^-53, k = min(N, CHUNK) + ceil(N / CHUNK) + THREADS. So the
computed sums of two batches of N records that differ in one record, whose contributions are at most
L apart, differ by at most L + 2 (gamma_k (1 + rho) + rho) N G.

*Proof.* An entry of the sum over a chunk is an inner product of at most CHUNK terms. Whatever the
order of its additions, and whether products are fused with them or not, its error is at most
gamma_CHUNK times the sum of the terms' moduli [Higham 2002, Sec 3.1]. The at most ceil(N / CHUNK) +
THREADS sums (a thread may end with an incomplete chunk) are added with at most as many roundings on
the way of each term, so the entry (a, j) of s is off by at most gamma_k sum_i |g_ia| |x_ij|. These
bounds are the entries of gamma_k sum_i |g_i| |x_i|^T, moduli taken entry by entry, whose norm is at
most gamma_k sum_i |g_i| |x_i| by the triangle inequality, the g_i here being the computed ones, of
which |g_i| |x_i| <= (1 + rho) G. Exchanging them for the exact ones moves the sum by at most
rho N G. QED

Nothing is assumed of the order in which BLAS, threads or sparse products add. No product or sum
overflows, because |g_i| |x_i| <= G and N G are within range (`Plan` sees to it), and what underflow
takes away is below 2^-1000.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from shiftdp._rounding import ULP

CHUNK = 4096
"""Records whose contributions are added before the sum joins the total."""

THREADS = 64
"""At most so many threads, those of all processes together, share out a batch."""

ENVELOPE_ACCURACY = 1e-10
"""An envelope that is solved for is within this part of its limit of the exact one."""

_UNIT = Fraction(1, 2**53)  # one rounding of a float, exactly

_WORDS = (
    f"float64, summed in chunks of at most {CHUNK} records; the sensitivity includes",
    "of itself for rounding, for any data (Theorem F1)",
)


def sum_error(records: int, residual: float = 0.0) -> float:
    """(gamma_k (1 + rho) + rho) N of Theorem F1, rounded up, for a sum over N records: in units of
    G.

    Args:
        records: N.
        residual: rho, the relative error of a residual.

    >>> f"{sum_error(1_500):.1e}, {sum_error(1_000_000):.1e}"
    '2.6e-10, 4.9e-07'
    """
    roundings = min(records, CHUNK) + -(-records // CHUNK) + THREADS
    k = roundings * _UNIT
    if k >= Fraction(1, 2):
        return math.inf
    rho = Fraction(residual)
    return math.nextafter(float(records * (k / (1 - k) * (1 + rho) + rho)), math.inf)


def residual_error(outputs: int, *, solved: bool) -> float:
    """rho of Theorem F1: by which part of itself, or of its limit, a residual may be off.

    Softmax of K scores, with its plain clipping, takes K + 8 roundings [`softmax._residuals`], a
    loss of one score fewer.

    Args:
        outputs: K.
        solved: whether it is the residual of an envelope of several scores, which is solved for.
    """
    return (outputs + 16) * ULP + (ENVELOPE_ACCURACY if solved else 0.0)


def arithmetic_words(excess: float) -> str:
    """How the training loop computes, as a certificate says it; `excess` is the part by which the
    sensitivity is more than that of real numbers.

    >>> arithmetic_words(2.6e-10)[-66:]
    'includes 2.6e-10 of itself for rounding, for any data (Theorem F1)'
    """
    return f"{_WORDS[0]} {excess:.1e} {_WORDS[1]}"


def stated_excess(words: str) -> float | None:
    """The number in `arithmetic_words`, to its two digits; None if the words are others."""
    pattern = rf"{re.escape(_WORDS[0])} (\d\.\de[+-]\d\d) {re.escape(_WORDS[1])}"
    found = re.fullmatch(pattern, words, re.ASCII)
    return None if found is None else float(found[1])
