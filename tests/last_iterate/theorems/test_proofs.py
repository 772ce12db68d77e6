"""What a certificate carries so that anybody can check it, written and read again."""

import json

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate.theorems.proofs import AnyProof, StochasticProof
from shiftdp.last_iterate.theorems.registry import proof_from_dict
from tests.last_iterate.every_kind import CERTIFICATES

PROOFS = {
    f"{name}, {i}": proof
    for name, certificate in CERTIFICATES.items()
    for i, proof in enumerate(certificate.proofs[:2])
}


@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS.keys())
def test_a_proof_is_read_back_as_it_was_written(proof: AnyProof) -> None:
    written = json.dumps(proof.to_dict())
    copy = proof_from_dict(json.loads(written))
    assert type(copy) is type(proof)
    assert json.dumps(copy.to_dict()) == written


@pytest.mark.parametrize("tau", [-1, 1.5, "1", True, None])
def test_steps_are_counted(tau: object) -> None:
    good = StochasticProof(3, ((0.5, 4),), cap=20).to_dict()
    assert proof_from_dict(good) == StochasticProof(3, ((0.5, 4),), cap=20)
    with pytest.raises(InvalidInput):
        proof_from_dict({**good, "tau": tau})
