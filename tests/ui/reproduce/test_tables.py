"""The privacy tables: every printed figure, and what stands beside it."""

from __future__ import annotations

from shiftdp.ui.reproduce.grid import Table


def test_every_entry_agrees_or_is_corrected(tables: dict[int, Table]) -> None:
    verdicts = [entry.verdict for table in tables.values() for entry in table.entries]
    # 9 + 12 + 18 on MNIST, 18 + 18 of NoisyGD, 30 + 27 mu* and 27 E* of NoisyCGD
    assert len(verdicts) == 159
    assert verdicts.count("corrected") == 27
    assert verdicts.count("agrees") == 132


def test_only_epochs_are_corrected(tables: dict[int, Table]) -> None:
    for number, table in tables.items():
        wrong = {e.quantity for e in table.entries if e.verdict == "corrected"}
        assert wrong == ({"E*"} if number >= 10 else set())


def test_random_order_stands_beside_the_fixed_one(tables: dict[int, Table]) -> None:
    """The figures of Theorem B4, rounded up."""
    rows = tables[1].beside[0].rows
    assert [row[2][:5] for row in rows] == ["3.482", "4.792", "6.881"]
    assert [row[3][:5] for row in rows] == ["3.491", "4.809", "6.900"]


def test_bounds_beside_what_is_attained_leave_no_room(tables: dict[int, Table]) -> None:
    for row in tables[7].beside[0].rows:
        for upper, lower in zip(row[1::2], row[2::2], strict=True):
            assert 0.0 <= float(upper) - float(lower) <= 1e-4
