"""npz: one matrix, and the target by name; types are those of the arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftdp.training.table_files.parts import refused
from shiftdp.training.table_files.rules import Block, Head, Rules, place_of


def _npz_arrays(
    path: str, target: str | None
) -> tuple[dict[str, tuple[Any, ...]], dict[str, np.dtype[Any]]]:
    """Shapes and types by name, from the headers alone."""
    import zipfile

    found: dict[str, tuple[Any, ...]] = {}
    types: dict[str, np.dtype[Any]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                known = name.removesuffix(".npy")
                found[known], _, types[known] = header(file)
    place_of(path, list(found), target)
    return found, types


def _matrix(path: str, shapes: dict[str, tuple[Any, ...]], target: str | None) -> str:
    matrices = [name for name, shape in shapes.items() if len(shape) == 2 and name != target]
    if len(matrices) != 1:
        raise refused(path, f"has {len(matrices)} matrices beside the target", "give it one")
    return matrices[0]


def npz_head(path: str, rules: Rules) -> Head:
    shapes, types = _npz_arrays(path, rules.target)
    name = _matrix(path, shapes, rules.target)
    n, features = shapes[name]
    return Head(n, features, None, np.float32 if types[name] == np.float32 else np.float64)


def npz_blocks(path: str, rules: Rules) -> Iterator[Block]:
    """The file as one block."""
    shapes, _ = _npz_arrays(path, rules.target)
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays[_matrix(path, shapes, rules.target)], arrays[str(rules.target)]
    if X.dtype.kind not in "fiub":
        raise refused(path, "has features that are not numbers", "give a matrix of numbers")
    if y.shape != X.shape[:1] or y.dtype.kind not in "fiubU":
        raise refused(
            path, "has a target that is no vector of numbers or words", "give one label a record"
        )
    yield Block(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), y)
