"""The lemma about blocks: paying first and adding the largest jumps never leaves less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.interpolation.bucket.patterns import scheduled

amounts = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])


@given(
    st.floats(0.0, 5.0),
    st.lists(st.tuples(amounts, amounts, st.booleans()), min_size=1, max_size=8),
)
def test_paying_before_anything_is_added_never_pays_more(
    y: float, steps: list[tuple[float, float, bool]]
) -> None:
    left = y
    for jump, rate, taken in steps:
        left = max(0.0, left + jump * taken - rate)
    paid, largest = sum(rate for _, rate, _ in steps), max(jump for jump, _, _ in steps)
    count = sum(taken for _, _, taken in steps)
    assert left <= max(0.0, y - paid) + largest * count + 1e-12


def test_a_chain_has_the_largest_jump_and_all_payments_of_each_block() -> None:
    bucket = scheduled(0.1, [0.5, 0.5, 1.0], [4.0, 1.0, 1.5], [1.0, 2.0, 1.0], 0.1, 9.0)
    chain = bucket.chain((1, 2))
    assert chain.start == 0.0
    assert [round(float(x), 9) for x in chain.jump] == [2.0, 1.5]
    assert [round(float(x), 9) for x in chain.paid] == [0.025, 0.5]
    assert [round(float(x), 9) for x in chain.most] == [4.5, 9.0]
