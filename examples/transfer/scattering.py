"""The scattering transform of images: features that no data were used for.

Scattering [Bruna and Mallat 2013] convolves an image with wavelets, takes moduli, does so again,
and averages: with |.| the modulus and phi a low-pass filter of width 2^J,

    x * phi,    |x * psi_1| * phi,    ||x * psi_1| * psi_2| * phi,

psi over J scales and L directions, the second one of a coarser scale than the first. The filters
are Morlet wavelets, fixed by formulas, so that the features of a record depend on that record alone
and cost nothing. For J = 2 and L = 8 there are 1 + 16 + 64 = 81 channels, each with a quarter of
the pixels along each side: 81 x 7 x 7 = 3969 numbers for a 28 x 28 image.
"""

from __future__ import annotations

import math

import torch
from torch import nn

_WIDTH = 0.8  # of the Gaussian window of the finest wavelet, in pixels
_FREQUENCY = 0.75 * math.pi  # of the finest wavelet


class Scattering(nn.Module):
    """Scattering of order 2 by fast Fourier transforms.

    Args:
        height, width: of the images, multiples of 2^J.
        scales: J.
        directions: L.

    >>> transform = Scattering(28, 28)
    >>> transform(torch.zeros(3, 28, 28)).shape
    torch.Size([3, 81, 7, 7])
    """

    low: torch.Tensor
    waves: torch.Tensor

    def __init__(self, height: int, width: int, scales: int = 2, directions: int = 8) -> None:
        super().__init__()
        self.scales, self.directions, self.step = scales, directions, 2**scales
        if height % self.step or width % self.step:
            raise ValueError(f"height, width = {height, width} are not multiples of {self.step}")
        rows, columns = height + 2 * self.step, width + 2 * self.step  # mirrored at the edges
        waves = [
            [
                _morlet(rows, columns, j, math.pi * k / directions, directions)
                for k in range(directions)
            ]
            for j in range(scales)
        ]
        self.register_buffer("low", _gaussian(rows, columns, _WIDTH * 2 ** (scales - 1)))
        self.register_buffer("waves", torch.stack([torch.stack(scale) for scale in waves]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Images (records, height, width) to (records, channels, height/2^J, width/2^J)."""
        pad = (self.step,) * 4
        spectrum = torch.fft.fft2(nn.functional.pad(images[:, None], pad, mode="reflect"))
        channels = [self._averaged(spectrum)]
        for j in range(self.scales):
            first = torch.fft.fft2(torch.fft.ifft2(spectrum * self.waves[j]).abs())
            channels.append(self._averaged(first))
            for k in range(j + 1, self.scales):
                pairs = first[:, :, None] * self.waves[k]
                second = torch.fft.ifft2(pairs).abs().flatten(1, 2)
                channels.append(self._averaged(torch.fft.fft2(second)))
        return torch.cat(channels, dim=1)

    def _averaged(self, spectra: torch.Tensor) -> torch.Tensor:
        """Convolved with the low-pass filter; every 2^J-th pixel, and none of the mirrored ones.

        To keep every s-th pixel is to add up the spectrum over its s x s parts.
        """
        s = self.step
        smooth = spectra * self.low
        *rest, rows, columns = smooth.shape
        parts = smooth.reshape(*rest, s, rows // s, s, columns // s)
        return torch.fft.ifft2(parts.mean(dim=(-4, -2))).real[..., 1:-1, 1:-1]


def _window(rows: int, columns: int, width: float, angle: float, slant: float) -> torch.Tensor:
    """exp(-|Q u|^2 / (2 width^2)) on a grid that wraps around; Q turns by `angle` and slants."""
    return torch.exp(-_turned(rows, columns, angle, slant) / (2.0 * width**2))


def _grid(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Coordinates of pixels from the corner, those beyond the middle being negative."""
    axes = [torch.fft.fftfreq(size, 1.0 / size, dtype=torch.float64) for size in (rows, columns)]
    down, along = torch.meshgrid(*axes, indexing="ij")
    return down, along


def _turned(rows: int, columns: int, angle: float, slant: float) -> torch.Tensor:
    down, along = _grid(rows, columns)
    u = math.cos(angle) * down + math.sin(angle) * along
    v = -math.sin(angle) * down + math.cos(angle) * along
    return u**2 + (slant * v) ** 2


def _gaussian(rows: int, columns: int, width: float) -> torch.Tensor:
    """The spectrum of the low-pass filter, which adds up to 1."""
    window = _window(rows, columns, width, 0.0, 1.0)
    return torch.fft.fft2(window / window.sum()).real.to(torch.float32)


def _morlet(rows: int, columns: int, scale: int, angle: float, directions: int) -> torch.Tensor:
    """The spectrum of a wave under a Gaussian window, less so much of that that it sums to 0."""
    width, frequency, slant = _WIDTH * 2**scale, _FREQUENCY / 2**scale, 4.0 / directions
    window = _window(rows, columns, width, angle, slant).to(torch.complex128)
    down, along = _grid(rows, columns)
    wave = window * torch.exp(1j * frequency * (math.cos(angle) * down + math.sin(angle) * along))
    wave = wave - window * (wave.sum() / window.sum())
    spectrum = torch.fft.fft2(wave * slant / (2.0 * math.pi * width**2))
    return spectrum.real.to(torch.float32)
