"""Every file that can be taken away opens, and has the numbers of the page."""

from __future__ import annotations

import csv
import io

import pytest

from shiftdp import Certificate
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.downloads import FILES, download
from tests.ui.explorer.examples import RUNS, settings


def rows_of(name: str, query: str) -> list[list[str]]:
    body, status, headers = download(name, query)
    assert status == 200, body
    assert headers["Content-Disposition"] == f'attachment; filename="shiftdp-{name}"'
    assert headers["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(body)))


@pytest.mark.parametrize("name", RUNS)
def test_the_certificate_can_be_verified(name: str) -> None:
    body, status, headers = download("certificate.json", RUNS[name].query)
    assert status == 200
    assert headers["Content-Type"].startswith("application/json")
    certificate = Certificate.from_json(body)
    certificate.verify()
    assert certificate.epsilon(1e-5) == certified(RUNS[name].asked()).epsilon


@pytest.mark.parametrize("name", ["fixed", "reshuffled", "sampled", "a deletion", "langevin"])
def test_tables_are_numbers(name: str) -> None:
    for file in ("tradeoff.csv", "epochs.csv"):
        head, *rows = rows_of(file, RUNS[name].query)
        assert len(rows) >= 3
        for row in rows:
            assert len(row) == len(head)
            assert all(cell == "" or float(cell) >= 0.0 for cell in row)


def test_the_table_of_lengths_has_the_epsilon_of_the_page() -> None:
    head, *rows = rows_of("epochs.csv", RUNS["fixed"].query)
    own = next(row for row in rows if float(row[0]) == 5.0)
    epsilon = certified(RUNS["fixed"].asked()).epsilon
    assert float(own[head.index("epsilon best")]) == pytest.approx(epsilon, rel=1e-9)


def test_the_proof_and_the_positions_are_tables() -> None:
    head, *rows = rows_of("shifts.csv", RUNS["fixed"].query)
    assert head == ["step", "shift", "distance left"]
    assert [int(row[0]) for row in rows] == list(range(1, 21))
    head, *rows = rows_of("positions.csv", RUNS["fixed"].query)
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("file", "query"),
    [
        *((file, settings(n="many").query) for file in FILES),
        *((file, settings(learning_rate="0.1").query) for file in FILES),
        ("epochs.csv", RUNS["exponential"].query),
        ("shifts.csv", RUNS["exponential"].query),
        ("positions.csv", RUNS["full batches"].query),
    ],
)
def test_what_there_is_not_is_refused_in_words(file: str, query: str) -> None:
    body, status, headers = download(file, query)
    assert status == 400
    assert len(body) > 10
    assert headers["Content-Type"].startswith("text/plain")
