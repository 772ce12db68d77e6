"""The Lipschitz envelope of the softmax loss on a device.

Newton's method of `shiftdp.training.losses.envelope` with the same equations, start, damping and
test of whether a record has settled, so that what has settled is as accurate. The few records that
have not are solved by the code there, on the processor.
"""

from __future__ import annotations

import torch

from shiftdp.training.losses import envelope
from shiftdp.training.losses.envelope import BELOW_ONE, NEWTON, SHRINKS, TOLERANCE


def envelope_residuals(z: torch.Tensor, y: torch.Tensor, kappa: torch.Tensor) -> torch.Tensor:
    """q for records, one a column of z, whose residual is longer than kappa; |q| <= kappa.

    >>> z = torch.tensor([[0.0], [3.0], [1.0]], dtype=torch.float64)
    >>> q = envelope_residuals(z, torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64))
    >>> [round(value, 4) for value in q.ravel().tolist()]
    [-0.3944, 0.2884, 0.106]
    """
    scores = z - z.amax(dim=0)
    q, settled = _newton(scores, y, kappa)
    q = q * torch.clamp(kappa / _length(q), max=1.0)
    q = q * (1.0 - (4 + len(z)) * torch.finfo(z.dtype).eps)
    if not bool(settled.all()):
        rest = torch.nonzero(~settled)[:, 0]
        parts = (scores[:, rest], y[rest], kappa[rest])
        solved = envelope.envelope_residuals(*(part.cpu().numpy() for part in parts))
        q[:, rest] = torch.from_numpy(solved).to(z.device)
    return q


def _gradient(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """softmax(v) - e_y; the entry of y is minus the sum of the others, so that nothing cancels."""
    p = torch.exp(v - v.amax(dim=0))
    p = p / p.sum(dim=0)
    p.scatter_(0, y[None], 0.0)
    return p.scatter_(0, y[None], -p.sum(dim=0)[None])


def _newton(
    z: torch.Tensor, y: torch.Tensor, kappa: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Newton on v = z - nu q(v) and 1/|q(v)| = 1/kappa together, for q; and which columns settled.

    Columns that have settled are not moved any more.
    """
    v, nu = _start(z, y, kappa)
    final = torch.full_like(v, torch.nan)
    settled = torch.zeros(z.shape[1], dtype=torch.bool, device=z.device)
    active = torch.arange(z.shape[1], device=z.device)
    scale = 1.0 + z.abs().amax(dim=0)
    for _ in range(NEWTON):
        q = _gradient(v, y)
        size = _length(q)
        gap = v - z + nu * q
        done = (gap.abs().amax(dim=0) <= TOLERANCE * scale) & (nu >= 0.0)
        done &= (size - kappa).abs() <= TOLERANCE * kappa
        final[:, active[done]] = q[:, done]
        settled[active[done]] = True
        keep = torch.nonzero(~done)[:, 0]
        if keep.numel() == 0:
            break
        active, nu, y, kappa, size, scale = (x[keep] for x in (active, nu, y, kappa, size, scale))
        v, z, q, gap = (x[:, keep] for x in (v, z, q, gap))
        p = q.scatter_add(0, y[None], torch.ones_like(nu)[None])
        a, c, h = _solved(p, nu, gap), _solved(p, nu, q), p * (q - _dot(p, q))
        wanted = size * size * (1.0 - size / kappa)
        step = -(wanted + _dot(h, a)) / _dot(h, c)
        move = torch.where(torch.isfinite(step), torch.maximum(step, -SHRINKS * nu), 0.0)
        change = -a - c * move
        # far from the solution scores may not run: half their spread and a little is enough
        spread = v.amax(dim=0) - v.amin(dim=0)
        damp = torch.clamp((2.0 + 0.5 * spread) / change.abs().amax(dim=0), max=1.0)
        damp = torch.where(torch.isfinite(damp), damp, 1.0)
        v = v + damp * change
        nu = nu + damp * move
    return final, settled


def _start(
    z: torch.Tensor, y: torch.Tensor, kappa: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The solution if the other classes kept their shares r of the probability they have."""
    others = z.scatter(0, y[None], -torch.inf)
    top = others.amax(dim=0)
    shares = torch.exp(others - top)
    total = shares.sum(dim=0)
    shares = shares / total
    length = 1.0 + _dot(shares, shares)
    rest = torch.clamp(kappa / length.sqrt(), max=BELOW_ONE)
    lead = top + torch.log(total) - z.gather(0, y[None])[0]
    nu = torch.clamp(lead - torch.log(rest / (1.0 - rest)), min=0.0) / (rest * length)
    q = (shares * rest).scatter(0, y[None], -rest[None])
    return z - nu * q, nu


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Column by column."""
    return (a * b).sum(dim=0)


def _length(q: torch.Tensor) -> torch.Tensor:
    return _dot(q, q).sqrt()


def _solved(p: torch.Tensor, nu: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(I + nu (diag(p) - p p^T))^{-1} applied to `right`, by Sherman and Morrison."""
    diagonal = 1.0 / (1.0 + nu * p)
    scaled = diagonal * p
    solution = diagonal * right
    return solution + scaled * (nu * _dot(p, solution) / scaled.sum(dim=0))
