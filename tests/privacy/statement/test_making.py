"""From a certificate to its statement."""

from shiftdp import __version__
from shiftdp.privacy.statement import statement_of
from shiftdp.privacy.statement.subject import today
from tests.privacy.statement.examples import certificates


def test_defaults_are_those_of_statements_in_words() -> None:
    made = statement_of(certificates()["gd"])
    assert (made.delta, made.version) == (1e-5, __version__)
    assert made.day <= today()
    assert made.ledger is None
