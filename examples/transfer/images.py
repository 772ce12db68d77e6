"""Images to try a head on: the IDX files of MNIST and its kin, small digits, folders of images."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch


class Split(NamedTuple):
    """Grey images (records, height, width) in [0, 1], and labels; for training and for testing."""

    train: torch.Tensor
    labels: Any
    test: torch.Tensor
    test_labels: Any


def idx(folder: Path) -> Split:
    """MNIST, Fashion-MNIST or another of their form: four files that end in -ubyte.gz."""
    parts: list[Any] = []
    for part in ("train", "t10k"):
        pixels = _read(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
        labels = _read(folder / f"{part}-labels-idx1-ubyte.gz", 8)
        parts += [torch.from_numpy(pixels.astype(np.float32) / 255.0), labels.astype(np.int64)]
    return Split(*parts)


def _read(file: Path, header: int) -> Any:
    with gzip.open(file) as opened:
        return np.frombuffer(opened.read(), dtype=np.uint8, offset=header)


def digits(seed: int = 0) -> Split:
    """1,797 digits of 8 x 8 pixels, which scikit-learn ships; a fifth for testing."""
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = torch.from_numpy(found.images.astype(np.float32) / 16.0)
    order = np.random.default_rng(seed).permutation(len(pixels))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    return Split(pixels[train], found.target[train], pixels[test], found.target[test])


def folder_batches(
    folder: Path, transform: Callable[[Any], torch.Tensor], size: int = 32
) -> tuple[Iterable[torch.Tensor], list[int], list[str]]:
    """A folder with one folder of images for each class: batches, labels and names of classes.

    The names of the folders are taken to be public. Needs Pillow.
    """
    from PIL import Image

    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    files = [
        (path, k) for k, name in enumerate(names) for path in sorted((folder / name).iterdir())
    ]

    def batches() -> Iterable[torch.Tensor]:
        for start in range(0, len(files), size):
            part = files[start : start + size]
            yield torch.stack([transform(Image.open(path).convert("RGB")) for path, _ in part])

    return batches(), [k for _, k in files], names
