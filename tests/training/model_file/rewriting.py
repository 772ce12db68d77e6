"""Model files that are read back, and files that somebody changed."""

from pathlib import Path
from typing import Any

from shiftdp.sklearn import load_model, save_model
from shiftdp.training.model_file.archive import digest_of, pack, unpack


def reload(model: Any, folder: Path) -> Any:
    save_model(model, folder / "model.shiftdp")
    return load_model(folder / "model.shiftdp")


def rewritten(path: Path, **changes: Any) -> None:
    """The file with other members, and the digest that goes with them."""
    members = unpack(path.read_bytes())
    del members["digest.txt"]
    for name, content in changes.items():
        members[f"{name}.json"] = content(members[f"{name}.json"])
    members["digest.txt"] = f"{digest_of(members)}\n".encode()
    path.write_bytes(pack(members))
