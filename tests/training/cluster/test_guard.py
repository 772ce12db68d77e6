"""What a worker raises comes to the driver without the data that it was about."""

import pickle

import pytest

from shiftdp import InvalidInput
from shiftdp.training.cluster.guard import ClusterFailed, Failure, Refusal, guarded, opened


def fail(error: Exception) -> None:
    raise error


def test_of_an_exception_only_its_type_is_told() -> None:
    found = guarded(fail, ValueError("could not convert 'a secret' to float"))
    assert found == Failure("ValueError")
    assert b"secret" not in pickle.dumps(found)
    with pytest.raises(ClusterFailed, match="ValueError") as caught:
        opened(found)
    assert "secret" not in str(caught.value)


def test_a_refusal_of_ours_is_raised_on_the_driver_as_it_was() -> None:
    error = InvalidInput("X", "<shape (3, 2)>", "is empty", "give rows")
    found = pickle.loads(pickle.dumps(guarded(fail, error)))
    assert isinstance(found, Refusal)
    with pytest.raises(InvalidInput) as caught:
        opened(found)
    assert caught.value.name == "X"
    assert "is empty; give rows" in str(caught.value)


def test_answers_pass() -> None:
    assert opened(guarded(divmod, 7, 2)) == (3, 1)
