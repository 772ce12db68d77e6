"""Images that a program draws: pen strokes, to learn from in public how features vary.

Features of images of one kind vary in few directions. To know these directions is worth a lot (the
features can be whitened), and to learn them from private images would have to be paid for. Images
of random strokes are no digits, letters or clothes, and the program reads no data; but their
scattering features vary in much the same directions as those of handwriting. The size of drawings
and the width of strokes below were set by hand, with images of MNIST beside them.
"""

from __future__ import annotations

import torch

_BOX = 18.0 / 28.0  # the longer side of a drawing, from pen to pen: some 20 pixels with its strokes
_POINTS = 32  # of a curve, at which the pen is put down
_WIDTHS = (0.03, 0.07)  # of half a stroke, in units of the image
_BLUR = 0.02  # how wide its edge is
_CHUNK = 250  # images drawn at a time


def strokes(
    count: int, height: int = 28, width: int = 28, *, most: int = 3, seed: int = 0
) -> torch.Tensor:
    """Images of 1 to `most` random cubic curves each, white on black, centred.

    >>> strokes(3).shape, float(strokes(3).min()) >= 0.0
    (torch.Size([3, 28, 28]), True)
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.cat(
        [
            _drawn(min(_CHUNK, count - start), height, width, most, generator)
            for start in range(0, count, _CHUNK)
        ]
    )


def _drawn(
    count: int, height: int, width: int, most: int, generator: torch.Generator
) -> torch.Tensor:
    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator)

    corners = uniform(count, most, 4, 2)
    # a stroke begins where the one before it ended, in half of the images
    joined = uniform(count) < 0.5
    for k in range(1, most):
        corners[joined, k, 0] = corners[joined, k - 1, 3]
    t = torch.linspace(0.0, 1.0, _POINTS)[:, None]
    # of each corner in a point of a cubic curve
    shares = torch.cat([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], dim=1)
    points = torch.einsum("pc,nscx->nspx", shares, corners)
    shown = torch.arange(most) < (1 + (most * uniform(count)).long())[:, None]
    drawn = shown[:, :, None, None].expand_as(points)
    high = points.masked_fill(~drawn, -torch.inf).amax(dim=(1, 2))
    low = points.masked_fill(~drawn, torch.inf).amin(dim=(1, 2))
    points = points * (_BOX / (high - low).amax(dim=1))[:, None, None, None]
    middle = (points * drawn).sum(dim=(1, 2)) / drawn.sum(dim=(1, 2))
    points = points + (0.5 - middle)[:, None, None, :]
    rows = (torch.arange(height) + 0.5) / height
    columns = (torch.arange(width) + 0.5) / width
    pixels = torch.cartesian_prod(rows, columns)
    apart = torch.cdist(pixels.expand(count, -1, -1), points.flatten(1, 2))
    apart = apart.unflatten(2, (most, _POINTS)).amin(dim=3)
    apart = torch.where(shown[:, None, :], apart, torch.inf).amin(dim=2)
    half = _WIDTHS[0] + (_WIDTHS[1] - _WIDTHS[0]) * uniform(count, 1)
    ink = torch.sigmoid((half - apart) / _BLUR * 2.0)
    return ink.reshape(count, height, width)
