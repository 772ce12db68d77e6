"""No record of an npz file changes how another is read: it is read the same, or the file is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shiftdp.training.table_files.reading import read
from tests.training.table_files.one_record import (
    RULES,
    TYPED,
    every_rule,
    many,
    refused_or_unchanged,
    typed_rows,
)


def npz_file(path: Path, record: tuple[Any, Any, Any]) -> Path:
    rows, names = typed_rows(record)
    np.savez(path, X=np.array(rows), y=np.array(names))
    return path


@every_rule
@many
@given(record=st.tuples(*[st.sampled_from(TYPED)] * 3))
@example(record=(1.5, 2.0, "x"))
@example(record=(1.5, 2.0, 1.5))
def test_a_row_of_npz_file(tmp_path: Path, rules: str, record: Any) -> None:
    plain = read(str(npz_file(tmp_path / "plain.npz", (1.0, 1.0, 1))), RULES[rules])
    try:
        path = npz_file(tmp_path / "data.npz", record)
    except (TypeError, ValueError, OverflowError):
        return  # no such file can be written
    refused_or_unchanged(path, RULES[rules], plain)
