"""The statement: a guarantee to read, sign and check, for a registry, for a model card."""

from shiftdp.privacy.statement.making import statement_of
from shiftdp.privacy.statement.reading import read_statement
from shiftdp.privacy.statement.subject import ABOUT, ModelFacts, Statement

__all__ = ["ABOUT", "ModelFacts", "Statement", "read_statement", "statement_of"]
