"""A private head on a frozen backbone. The program of docs/transfer.md.

    python examples/transfer/private_transfer.py                         # digits, scattering
    python examples/transfer/private_transfer.py --data mnist/           # a folder of IDX files
    python examples/transfer/private_transfer.py --backbone torchvision:resnet50 \
        --data photos/train --test photos/test                           # a folder a class

Features are made once, record by record; the head is softmax regression, planned from public
numbers and certified. The default is `zero_out`: neighbours differ in one record that is there or
is nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from backbones import backbone
from features import Whitening, extracted, in_batches, unit_rows
from images import Split, digits, folder_batches, idx
from strokes import strokes

from shiftdp.sklearn import PrivateLogisticRegression


class Rows(NamedTuple):
    """Rows of norm 1 and labels, for training and for testing, and how many classes there are."""

    train: Any
    labels: Any
    test: Any
    test_labels: Any
    classes: int


def grey_rows(split: Split, name: str, *, public: int = 10_000, directions: int = 1_000) -> Rows:
    """Grey images by a backbone without weights; whitened by drawn strokes if `public` of them."""
    height, width = split.train.shape[1:]
    module = backbone(name, height, width).module
    train, test = (
        extracted(module, in_batches(part), len(part)) for part in (split.train, split.test)
    )
    if public:
        drawn = extracted(module, in_batches(strokes(public, height, width)), public)
        whitening = Whitening.learnt(drawn, directions)
        train, test = whitening.rows(train), whitening.rows(test)
    else:
        train, test = unit_rows(train), unit_rows(test)
    return Rows(train, split.labels, test, split.test_labels, 10)


def pretrained_rows(train: Path, test: Path, name: str) -> Rows:
    """Folders of images by a pretrained backbone."""
    module, transform = backbone(name)
    if transform is None:
        raise ValueError(f"backbone={name!r} is for grey images; give a pretrained one")
    found: list[Any] = []
    classes: list[list[str]] = []
    for folder in (train, test):
        batches, labels, names = folder_batches(folder, transform)
        classes.append(names)
        if names != classes[0]:
            raise ValueError(f"test={test} does not have the classes of {train}, folder by folder")
        found += [unit_rows(extracted(module, batches, len(labels))), labels]
    return Rows(*found, len(classes[0]))


def fitted(rows: Rows, epsilon: float, delta: float, **settings: Any) -> Any:
    """The head: rows have norm 1 and mean about 0, so that a constant is not worth its noise."""
    head = PrivateLogisticRegression(
        epsilon,
        delta,
        feature_bound=1.0,
        classes=list(range(rows.classes)),
        fit_intercept=False,
        **settings,
    )
    return head.fit(rows.train, rows.labels)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="IDX files, or a folder a class; digits if none")
    parser.add_argument("--test", type=Path, help="the test images of a pretrained backbone")
    parser.add_argument("--backbone", default="scattering")
    parser.add_argument("--public", type=int, default=10_000, help="strokes drawn; 0 for none")
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--adjacency", default="zero_out", choices=["zero_out", "replace_one"])
    given = parser.parse_args(words)
    if ":" in given.backbone:
        if given.data is None or given.test is None:
            parser.error("--data and --test: a pretrained backbone needs folders of images")
        rows = pretrained_rows(given.data, given.test, given.backbone)
    else:
        split = digits() if given.data is None else idx(given.data)
        rows = grey_rows(split, given.backbone, public=given.public)
    head = fitted(rows, given.epsilon, given.delta, adjacency=given.adjacency)
    print(head.plan_)
    print(
        f"epsilon = {head.certificate_.epsilon(given.delta):.4f} at delta = {given.delta:g}, "
        f"{given.adjacency}, by {head.certificate_.bound}"
    )
    print(f"test accuracy {100.0 * head.score(rows.test, rows.test_labels):.2f}%")


if __name__ == "__main__":
    main()
