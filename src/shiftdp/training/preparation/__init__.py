"""From a raw table to rows of bounded length: declared by public numbers, or learnt with noise."""

from shiftdp.training.preparation.columns import Boolean, Categorical, Column, Numeric
from shiftdp.training.preparation.schema import Schema, read_schema

__all__ = ["Boolean", "Categorical", "Column", "Numeric", "Schema", "read_schema"]
