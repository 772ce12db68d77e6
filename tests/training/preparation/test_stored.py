"""A table that is read block by block is encoded as the table in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import Boolean, Categorical, Numeric, PrivateTableEncoder
from shiftdp.training.descent import disk
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.preparation.reading import CodedWords
from shiftdp.training.preparation.schema import Schema
from shiftdp.training.preparation.stored import StoredTable

N = 400
COLUMNS: dict[str, Any] = {
    "city": Categorical(most=3),
    "age": Numeric(low=0, high=100),
    "pay": Numeric(within=(0, 1000), scale="moments"),
    "member": Boolean(),
}


def entries() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Oslo", "Rome"], size=N).astype(object)
    city[3] = None
    pay = rng.uniform(0, 500, size=N)
    pay[5] = np.nan
    return {"city": city, "age": rng.integers(0, 99, N), "pay": pay, "member": pay > 100}


def filled(memory: float, size: int = 77) -> StoredTable:
    found = entries()
    table = StoredTable(Schema(columns=COLUMNS), N, memory)
    for start in range(0, N, size):
        table.add({name: column[start : start + size] for name, column in found.items()})
    table.require_full()
    return table


@pytest.mark.parametrize("memory", [np.inf, 0.0])
def test_blocks_give_the_encoding_of_the_table(
    monkeypatch: pytest.MonkeyPatch, memory: float
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(disk, "RESIDENT", 1 << 10)
    encoder = PrivateTableEncoder(COLUMNS, epsilon=5.0, delta=1e-5, random_state=0)
    whole = encoder.fit_transform(pandas.DataFrame(entries()))
    stored = encoder.fit_transform(filled(memory))
    np.testing.assert_array_equal(stored, whole)
    assert is_mapped(stored) == (memory == 0.0)


def test_what_is_beyond_memory_is_on_disk_and_the_rest_is_not() -> None:
    for memory, mapped in ((np.inf, False), (0.0, True)):
        for values in filled(memory).values.values():
            kept = values.codes if isinstance(values, CodedWords) else values
            assert is_mapped(kept) == mapped


def test_missing_words_stay_missing() -> None:
    words = filled(0.0).values["city"]
    assert words[0:N].tolist() == entries()["city"].tolist()


def test_a_table_that_is_not_full_is_refused() -> None:
    table = StoredTable(Schema(columns=COLUMNS), N)
    table.add({name: column[:7] for name, column in entries().items()})
    with pytest.raises(InvalidInput, match="not the table that was counted"):
        table.require_full()
