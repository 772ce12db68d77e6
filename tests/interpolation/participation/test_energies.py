"""Adding energies to a law in cells."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp.interpolation.participation.energies import Energies, Moves, move


def moved_one_by_one(mass: np.ndarray, energy: float) -> np.ndarray:
    """Each cell by itself, to the next cell that holds it."""
    new = np.zeros_like(mass)
    for n, q in enumerate(mass):
        to = min(int(np.ceil(np.sqrt(n * n + energy))), len(mass) - 1)
        new[to] += q
    return new


@pytest.mark.parametrize("root", [1, 2, 3, 7, 20, 39, 60, 81])
def test_the_table_moves_each_cell_to_the_next_one_that_holds_it(root: int) -> None:
    mass = np.random.default_rng(root).dirichlet(np.ones(42))
    above = np.cumsum(mass[::-1])[::-1]
    source = Energies(40).source[root]
    expected = np.cumsum(moved_one_by_one(mass, (root / 2) ** 2)[::-1])[::-1]
    np.testing.assert_allclose(above[source], expected, atol=1e-15)


@pytest.mark.parametrize("typical", [0.0, 3.7, 25.0, 200.0])
def test_energies_are_rounded_up_by_less_than_a_cell(typical: float) -> None:
    energies = Energies(300)
    energy = np.geomspace(1e-6, 4e4, 400)
    row = energies.rows(energy, np.asarray(typical))
    rounded = (row / 2.0) ** 2
    assert np.all(rounded >= energy)
    moved = np.sqrt(typical**2 + rounded) - np.sqrt(typical**2 + energy)
    assert np.all(moved <= 1.0 + 1e-9)


def test_energies_beyond_all_cells_are_in_the_last_row() -> None:
    energies = Energies(10)
    row = energies.rows(np.array([1e9, 1e300]), np.zeros(2))
    assert row.tolist() == [21, 21]
    assert not energies.source[21].any()  # the whole mass is beyond


def test_mass_moves_up_and_remains_at_its_start() -> None:
    rng = np.random.default_rng(0)
    mass = np.zeros((4, 62))
    mass[0, 0], mass[1, 5:20] = 0.3, rng.uniform(size=15)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1].copy()
    before = above.copy()
    moves = Moves(
        np.array([0, 0, 1, 1, 1]),
        np.array([1, 3, 2, 3, 3]),
        np.array([9.0, 100.0, 40.0, 3.0, 500.0]),
        np.array([0.5, 0.1, 0.2, 0.3, 0.01]),
    )
    move(above, Energies(60), moves)
    exact = mass.copy()
    for j, i, e, q in zip(*moves, strict=True):
        exact[i] += q * moved_one_by_one(mass[j], e)
    exact = np.cumsum(exact[:, ::-1], axis=1)[:, ::-1]
    np.testing.assert_allclose(above[:, 0], exact[:, 0], rtol=1e-14)  # all of it, and no more
    assert np.all(above >= exact - 1e-15)
    np.testing.assert_array_equal(above[0], before[0])
    # and by a cell or two at most
    assert np.all(above[:, 2:] <= exact[:, :-2] + 1e-15)


def test_tails_that_count_as_nothing_do_not_move_and_all_others_do() -> None:
    rng = np.random.default_rng(1)
    mass = np.zeros((3, 402))
    mass[0, 30:400] = np.exp(-0.1 * np.arange(370)) * rng.uniform(0.5, 1.0, 370)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1].copy()
    moves = Moves(
        np.zeros(40, dtype=np.int64),
        np.repeat([1, 2], 20),
        rng.uniform(1.0, 3e4, 40),
        np.full(40, 0.02),
    )
    everything, most = above.copy(), above.copy()
    move(everything, Energies(400), moves)
    move(most, Energies(400), moves, 1e-9)
    left_out = everything - most
    assert np.all(left_out >= -1e-15)
    assert np.all(left_out <= 1e-9 * 0.4 * (1.0 + 1e-9))
    assert left_out.max() > 1e-12
