"""Fitted models in files that cannot run code when they are read: the format of skops."""

from __future__ import annotations

import os
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp._files import write_file
from shiftdp.training.entropy import MissingPackage

__all__ = ["load_model", "save_model"]

_HARMLESS = {"builtins.range", "pathlib.PosixPath", "pathlib.WindowsPath"}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, with its plan and certificate."""
    io = _skops()
    write_file(path, io.dumps(model))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read what `save_model` wrote; a file with types that are not shiftdp's own is refused."""
    io = _skops()
    name = os.fspath(path)
    try:
        unknown = io.get_untrusted_types(file=name)
    except Exception as error:
        raise InvalidInput(
            "path", name, "is no model file", "give what save_model wrote"
        ) from error
    foreign = [
        kind for kind in unknown if not kind.startswith("shiftdp.") and kind not in _HARMLESS
    ]
    if foreign:
        raise InvalidInput(
            "path",
            name,
            f"holds {foreign[0]}, which is not shiftdp's",
            "read it with skops, or not",
        )
    return io.load(name, trusted=unknown)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingPackage("model files need skops: pip install 'shiftdp[sklearn]'") from error
    return skops.io
