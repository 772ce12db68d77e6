"""Damaged tables, CSV, Parquet, npz, svmlight and IDX, of which no message repeats an entry."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

from shiftdp import ShiftdpError
from shiftdp.training.table_files.raw_files import columns_of, read_raw, records_in
from shiftdp.training.table_files.reading import read, shape_of
from shiftdp.training.table_files.rules import Rules
from shiftdp.ui.reproduce.images import mnist_in
from tests.fuzz.choices import Choices
from tests.fuzz.limits import Broken, require
from tests.fuzz.mutation import damaged
from tests.fuzz.texts import folder, in_file

SECRETS = ("73125519", "kyrgyz")
"""Parts of entries that no message may have in it. They occur nowhere else."""

_CSV = (
    b'height,city,y\n7.3125519,kyrgyz,1\n-0.25,7.3125519,0\n1e-3,"kyrgyz, old",1\n',
    b"height,weight,y\n7.3125519,1,kyrgyz\n-0.25,73125519,no\n1.5,2.5,yes\n",
    b"a,y\r\n73125519,1\r\n2,0\r\n",
)
_SVM = (b"1 1:7.3125519 2:1\n0 2:73125519 # kyrgyz\n1 1:-1\n",)
_RULES = Rules(target="y")


@cache
def parquets() -> tuple[bytes, ...]:
    import pyarrow
    import pyarrow.parquet

    columns: tuple[dict[str, Any], ...] = (
        {"height": [7.3125519, 1.0, 2.0], "weight": [73125519.0, 1.0, 0.0], "y": [1, 0, 1]},
        {"height": [7.3125519, None], "city": ["kyrgyz", "b"], "y": ["kyrgyz", "no"]},
        {"height": pyarrow.array([7.3125519, 2.0], pyarrow.float32()), "y": [True, False]},
    )
    found = []
    for one in columns:
        for compression in ("NONE", "SNAPPY"):
            out = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.table(one), out, compression=compression)
            found.append(out.getvalue())
    return tuple(found)


@cache
def archives() -> tuple[bytes, ...]:
    found = []
    for X, y in (
        (np.array([[7.3125519, 1.0], [73125519.0, 0.0]]), np.array([1, 0])),
        (np.array([[1, 2], [3, 4]], dtype=np.int8), np.array(["kyrgyz", "no"])),
    ):
        for save in (np.savez, np.savez_compressed):
            out = io.BytesIO()
            save(out, X=X, y=y)
            found.append(out.getvalue())
    return tuple(found)


def quietly(action: Callable[[], object]) -> None:
    """Refusals pass; with an entry of the table in them, anywhere in their chain, they do not."""
    try:
        action()
    except (ShiftdpError, click.ClickException) as error:
        link: BaseException | None = error
        while link is not None:
            text = str(link) if not isinstance(link, click.ClickException) else link.message
            if any(secret in text.replace(".", "") for secret in SECRETS):
                raise Broken("an entry in a message", text) from None
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _read_table(name: str, content: bytes, rules: Rules = _RULES) -> None:
    path = in_file(name, content)
    quietly(lambda: shape_of(path, rules))

    def whole() -> None:
        table = read(path, rules)
        X = table.X.data if hasattr(table.X, "indptr") else table.X
        require(bool(np.isfinite(X).all()), "a feature that is no number")
        require(len(table.y) == table.X.shape[0], "labels of other records")

    quietly(whole)
    if name.endswith(("csv", "parquet")):
        quietly(lambda: [columns_of(path), records_in(path), read_raw(path, ["y"])])


def read_csv(content: bytes) -> None:
    _read_table("table.csv", content)


def read_parquet(content: bytes) -> None:
    _read_table("table.parquet", content)


def read_npz(content: bytes) -> None:
    _read_table("table.npz", content)


def read_svmlight(content: bytes) -> None:
    _read_table("table.svm", content, Rules(target=None, features=2))


def try_csv(data: bytes) -> None:
    read_csv(damaged(Choices(data), _CSV))


def try_parquet(data: bytes) -> None:
    read_parquet(damaged(Choices(data), parquets()))


def try_npz(data: bytes) -> None:
    read_npz(damaged(Choices(data), archives()))


def try_svmlight(data: bytes) -> None:
    read_svmlight(damaged(Choices(data), _SVM))


# --- IDX, of which `reproduce` reads four ---

_IDX = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8])


@cache
def _images() -> Path:
    found = folder() / "images"
    found.mkdir(exist_ok=True)
    return found


def read_idx(content: bytes) -> None:
    """The first of the four files, plain or packed by its first bytes."""
    packed = content[:2] == b"\x1f\x8b"
    plain = _images() / "train-images-idx3-ubyte"
    plain.unlink(missing_ok=True)
    (plain.with_name(plain.name + ".gz") if packed else plain).write_bytes(content)
    mnist_in(_images())


def try_idx(data: bytes) -> None:
    read_idx(damaged(Choices(data), (_IDX, gzip.compress(_IDX, mtime=0))))


RAW: dict[str, tuple[Callable[[bytes], None], Callable[[], tuple[bytes, ...]]]] = {
    "csv": (read_csv, lambda: _CSV),
    "parquet": (read_parquet, parquets),
    "npz": (read_npz, archives),
    "svmlight": (read_svmlight, lambda: _SVM),
    "idx": (read_idx, lambda: (_IDX, gzip.compress(_IDX, mtime=0))),
}
"""Readers of whole files, for fuzzers that write the file themselves, with valid ones."""
