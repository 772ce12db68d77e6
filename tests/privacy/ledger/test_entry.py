"""The entries of a log, in print."""

from __future__ import annotations

from shiftdp.privacy import Ledger
from tests.privacy.ledger.examples import filled


def test_it_prints_as_a_table(ledger: Ledger) -> None:
    filled(ledger)
    lines = str(ledger).splitlines()
    spent = float(lines[0].removeprefix("ledger.db: epsilon ").partition(" of 3 is spent")[0])
    assert ledger.epsilon() <= spent <= ledger.epsilon() + 1e-4
    assert lines[1].split() == ["#", "label", "release", "times", "mu", "epsilon", "state"]
    assert set(lines[2]) == {"-"}
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["1", "first"],
        ["3", "second"],
        ["4", "third"],
    ]
    assert len({line.index("re", 40) for line in lines[4:6]}) == 1  # "reserved", in one column
    assert lines[3].endswith("completed")
    assert "not chosen by earlier results" in str(ledger)
