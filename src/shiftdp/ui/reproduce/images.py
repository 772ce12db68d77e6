"""The experiment's data and runs.

MNIST from local files or from OpenML, or the digits that come with scikit-learn; and for each the
runs of the paper's experiment, and what is assumed of its losses.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp.last_iterate import Geometry, NoisyCGD, NoisySGD
from shiftdp.last_iterate.runs import Order
from shiftdp.ui.reproduce.verdict import published

_SIZE = 28 * 28  # pixels of an image of MNIST
_COUNTS = {"train": 60_000, "t10k": 10_000}


class NoImages(ShiftdpError):
    """There are no data to train on; the message says how to get some."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of features, at most as long as the setting's bound, and their labels."""

    features: NDArray[np.float32]
    labels: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Images:
    """What is trained on, what is tested on, and the setting that goes with them."""

    name: str
    train: Part
    test: Part
    setting: Setting
    published: bool

    @property
    def classes(self) -> int:
        return int(self.train.labels.max()) + 1


def mnist_in(folder: str | Path) -> Images:
    """MNIST from its four IDX files, gzipped or not."""
    found = Path(folder)
    if not found.is_dir():
        raise InvalidInput("data", str(folder), "is no folder", "give the one with the IDX files")
    parts = {}
    for part, count in _COUNTS.items():
        pixels = _idx(found, f"{part}-images", 3)
        labels = _idx(found, f"{part}-labels", 1)
        if pixels.shape != (count, 28, 28) or labels.shape != (count,):
            raise InvalidInput(
                "data",
                str(folder),
                f"has {part} files of shapes {pixels.shape} and {labels.shape}, which is not MNIST",
                f"give {count} images of 28 by 28 pixels and as many labels",
            )
        parts[part] = _part(pixels.reshape(count, _SIZE), labels, 255.0, PAPER)
    return Images("MNIST", parts["train"], parts["t10k"], PAPER, published=True)


def mnist_from_openml() -> Images:
    """MNIST through scikit-learn: from its cache, or from the network where there is one."""
    try:
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise NoImages(_wanted("scikit-learn is not installed")) from error
    try:
        pixels, labels = fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=1
        )
    except Exception as error:
        raise NoImages(_wanted(f"OpenML gave {type(error).__name__}")) from error
    if pixels.shape != (70_000, _SIZE):
        raise NoImages(_wanted(f"OpenML gave an array of shape {pixels.shape}"))
    cut = _COUNTS["train"]
    train, test = (
        _part(pixels[rows], labels[rows].astype(np.intp), 255.0, PAPER)
        for rows in (slice(None, cut), slice(cut, None))
    )
    return Images("MNIST (OpenML)", train, test, PAPER, published=True)


def digits() -> Images:
    """The 1797 digits of 8 by 8 pixels in scikit-learn, in a setting that leaks as much an epoch.

    The same number of batches, learning rate, regularisers and L/(b sigma), but a fifth of the
    epochs: a rehearsal, of which no number can be compared with the paper.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise NoImages(
            "the quick data are those of scikit-learn: pip install 'shiftdp[reproduce]'"
        ) from error
    pixels, labels = load_digits(return_X_y=True)
    batch_size = 36
    setting = replace(
        PAPER,
        n=PAPER.batches * batch_size,
        batch_size=batch_size,
        epochs=tuple(epochs // 5 for epochs in PAPER.epochs),
        noise=PAPER.sensitivity / (batch_size * PAPER.effective),
    )
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = (
        _part(pixels[rows], labels[rows], 8.0, setting)
        for rows in (order[: setting.n], order[setting.n :])
    )
    return Images("digits", train, test, setting, published=False)


def _part(pixels: Any, labels: Any, white: float, setting: Setting) -> Part:
    features = pixels.astype(np.float32)
    features /= np.float32(white)
    # a little less than the bound, so that rounding does not carry a row above it
    bound = setting.feature_bound * (1.0 - 1e-6)
    norms = np.linalg.norm(features, axis=1)
    features *= (np.minimum(1.0, bound / np.maximum(norms, 1e-9)))[:, None].astype(np.float32)
    return Part(np.ascontiguousarray(features), labels.astype(np.intp))


def _idx(folder: Path, name: str, dimensions: int) -> NDArray[np.uint8]:
    """One file: two zero bytes, the type (8 for bytes), the number of dimensions, their sizes."""
    path, opener = _located(folder, name, dimensions)
    remedy = "download it again"
    try:
        with opener(path) as file:
            data = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput("data", str(path), f"cannot be read: {error}", remedy) from error
    header = 4 + 4 * dimensions
    if len(data) < header or data[:4] != bytes([0, 0, 8, dimensions]):
        raise InvalidInput("data", str(path), "is not an IDX file of bytes", remedy)
    shape = tuple(np.frombuffer(data, dtype=">u4", count=dimensions, offset=4).tolist())
    # of no images, the other sizes can be more than any array has
    if len(data) - header != math.prod(shape) or 0 in shape:
        raise InvalidInput(
            "data", str(path), f"does not have the size that it says, {shape}", remedy
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def _located(folder: Path, name: str, dimensions: int) -> tuple[Path, Callable[[Path], Any]]:
    endings = [f"{mark}idx{dimensions}-ubyte" for mark in "-."]
    for ending in endings:
        plain, packed = folder / (name + ending), folder / f"{name}{ending}.gz"
        if plain.is_file():
            return plain, lambda path: path.open("rb")
        if packed.is_file():
            return packed, gzip.open
    raise InvalidInput(
        "data",
        str(folder),
        f"has no {name}{endings[0]}, with or without .gz",
        "give the folder with the four IDX files of MNIST",
    )


def _wanted(why: str) -> str:
    return (
        f"no MNIST: {why}; give --data DIR with its four IDX files, or --quick for the digits that "
        "come with scikit-learn, or --no-training for all that needs no data"
    )


@dataclass(frozen=True)
class Setting:
    """n, b, eta, sigma, L, the bound on the features, and what is varied."""

    n: int
    batch_size: int
    learning_rate: float
    noise: float
    sensitivity: float
    feature_bound: float
    ridges: tuple[float, ...]
    epochs: tuple[int, ...]

    @property
    def batches(self) -> int:
        """l, the number of batches an epoch."""
        return self.n // self.batch_size

    @property
    def effective(self) -> float:
        """L/(b sigma), how far one record moves a step, in units of the noise."""
        return self.sensitivity / (self.batch_size * self.noise)

    def geometry(self, ridge: float) -> Geometry:
        """What would hold if clipping kept the loss convex, and does for the Lipschitz envelope.

        Smoothness R^2/2 + lambda, R^2 being the bound on the features squared, plus 1 for the
        constant.
        """
        smoothness = (self.feature_bound**2 + 1.0) / 2.0 + ridge
        return Geometry(strong_convexity=ridge, smoothness=smoothness, sensitivity=self.sensitivity)

    def cyclic(self, epochs: int, order: Order = "fixed") -> NoisyCGD:
        """NoisyCGD in this setting."""
        return NoisyCGD(
            n=self.n,
            batch_size=self.batch_size,
            epochs=epochs,
            learning_rate=self.learning_rate,
            noise=self.noise,
            order=order,
        )

    def sampled(self, epochs: int) -> NoisySGD:
        """NoisySGD, with as many steps as that many epochs of NoisyCGD have."""
        return NoisySGD(
            n=self.n,
            batch_size=self.batch_size,
            steps=epochs * self.batches,
            learning_rate=self.learning_rate,
            noise=self.noise,
            sampling="without_replacement",
        )


def _paper() -> Setting:
    found: dict[str, Any] = published("mnist_setting")
    return Setting(
        n=found["n"],
        batch_size=found["batch"],
        learning_rate=found["eta"],
        noise=found["sigma"],
        sensitivity=float(found["L"]),
        feature_bound=float(found["feature_clip"]),
        ridges=tuple(found["lambda"]),
        epochs=tuple(found["epochs"]),
    )


PAPER = _paper()
