"""Fitted models in files: plain data with a digest, in a zip archive."""

from shiftdp.training.model_file.files import (
    FORMAT,
    ModelFile,
    load_model,
    read_model,
    save_model,
)

__all__ = ["FORMAT", "ModelFile", "load_model", "read_model", "save_model"]
