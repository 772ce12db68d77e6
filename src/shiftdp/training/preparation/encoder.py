"""One transformer for a raw table: rows of bounded length, by public numbers or paid-for ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import choice, delta_in, finite
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.descent.disk import blocks, is_mapped, let_go, on_disk
from shiftdp.training.descent.entropy import Entropy, Stream
from shiftdp.training.estimators.base import entropy_of
from shiftdp.training.estimators.inputs import quietly
from shiftdp.training.losses.base import Floats, described
from shiftdp.training.preparation.codes import (
    CategoryCode,
    Code,
    NumberCode,
    TruthCode,
    scaled_to,
)
from shiftdp.training.preparation.columns import Categorical, Column, Numeric
from shiftdp.training.preparation.layout import Layout, Share, layout_of
from shiftdp.training.preparation.learning import (
    Summed,
    frequent_categories,
    learnt_moments,
    learnt_range,
)
from shiftdp.training.preparation.reading import (
    CodedWords,
    RawTable,
    Words,
    raw_table,
    read_column,
)
from shiftdp.training.preparation.stored import StoredTable

from sklearn.base import BaseEstimator, TransformerMixin  # isort: skip
from sklearn.utils.validation import (  # isort: skip
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

_DELTA = 1e-5  # unless another is given, as for the estimators


class PrivateTableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # not typed
    """A table of numbers, categories, truth values and missing entries as rows of bounded length.

    What the schema declares is public and free. What it leaves out is learnt by sums with Gaussian
    noise, within (epsilon, delta); in a `PrivatePipeline` within its share of the budget of the
    pipeline. How a record is encoded depends on the record, on what is public, and on these noisy
    sums: on no other record.

    Parameters
    ----------
    schema : Schema, dict, list, path or None, default=None
        What is public about the columns: `Numeric`, `Categorical` or `Boolean` by name, a list of
        them for arrays, or a TOML or JSON file. None takes kinds from the types of the columns
        (numbers, truth values, all else categories) and learns the rest.
    epsilon : float or None, default=None
        What the preparation may cost. None: a share of the pipeline's budget; without a pipeline
        nothing can be learnt then.
    delta : float, default=1e-5
        The delta of that epsilon.
    adjacency : {"replace_one", "zero_out"}, default="replace_one"
        Which data sets are neighbours. In a pipeline those of its estimator are.
    ledger : Ledger or path, default=None
        Charged before anything is learnt.
    random_state : int, RandomState or None, default=None
        None draws noise from the operating system. Anything else is reproducible and NOT private.

    Attributes
    ----------
    layout_ : the columns, with what is public about them.
    codes_ : what each column became, which was released.
    certificate_ : what that cost, proved.
    feature_bound_ : no encoded row is longer; for the `feature_bound` of an estimator.

    >>> table = np.array([[20.0, 1.0], [60.0, np.nan]])
    >>> encoder = PrivateTableEncoder([Numeric(low=0, high=80), Numeric(low=0, high=2)]).fit(table)
    >>> encoder.transform(table)
    array([[-0.5,  0. ,  0. ,  0. ],
           [ 0.5,  0. ,  0. ,  1. ]])
    >>> encoder.certificate_.epsilon(1e-5), round(encoder.feature_bound_, 6)
    (0.0, 1.414214)
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        epsilon: float | None = None,
        delta: float = _DELTA,
        adjacency: Adjacency = "replace_one",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.ledger = ledger
        self.random_state = random_state

    # --- fitting: public numbers first, then the records, then the charge, then the noise ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the schema leaves out; if it is refused, the encoder stays as it was.

        Args:
            X: a data frame of pandas or polars, a structured array, an array or a list of rows.
            y: not looked at.
        """
        self._check_parameters()
        before = dict(vars(self))
        try:
            table = self._table(X, reset=True)
            layout = layout_of(self.schema, table)
            sums = self._own_sums(layout, table.n)
            values = self._values(layout, table)
            entropy = entropy_of(self.random_state)
            certificate = PipelineCertificate(
                n=table.n, adjacency=self.adjacency, sums=sums, private=entropy.private or not sums
            )
            account = self._account(entropy, sums)
            entry = None
            if account is not None:
                entry = account.reserve(certificate, label=type(self).__name__)
            self._learn(layout, values, certificate, entropy)
            if account is not None and entry is not None:
                account.complete(entry)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _check_parameters(self) -> None:
        delta_in(self.delta)
        choice("adjacency", self.adjacency, get_args(Adjacency))
        if self.epsilon is not None:
            finite("epsilon", self.epsilon, 0.0, open_low=True)

    def _own_sums(self, layout: Layout, n: int) -> tuple[NoisySum, ...]:
        if not layout.parts:
            return ()
        if self.epsilon is None:
            column, kind = layout.parts[0]
            raise InvalidInput(
                "epsilon", None, f"leaves nothing for the {kind} of {column!r} to be learnt with",
                "give epsilon=..., declare it in the schema, or fit in a PrivatePipeline",
            )  # fmt: skip
        share = Share.of_budget(self.epsilon, self.delta, names=layout.learns_names)
        return layout.sums(share, n, self.adjacency)

    def _account(self, entropy: Entropy, sums: Sequence[NoisySum]) -> Account | None:
        if self.ledger is None or not sums:
            return None
        if not entropy.private:
            raise InvalidInput(
                "random_state", self.random_state,
                "makes noise that is not private and cannot be charged",
                "give random_state=None, or no ledger",
            )  # fmt: skip
        return self.ledger if isinstance(self.ledger, Account) else Ledger(self.ledger)

    def _table(self, X: Any, *, reset: bool) -> RawTable:
        """The columns of a table, with the names and in the number that were fitted."""
        from scipy.sparse import issparse

        if issparse(X):
            raise InvalidInput(
                "X", described(X), "is sparse, and sparse data are not supported",
                "give an array or a data frame",
            )  # fmt: skip
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise InvalidInput(
                "X", described(X), "is complex. Complex data not supported", "give real numbers"
            )
        table = quietly(lambda: self._checked(X, reset), X)
        if reset and table.names is None:
            self.__dict__.pop("feature_names_in_", None)
        return table

    def _checked(self, X: Any, reset: bool) -> RawTable:
        structured = getattr(getattr(X, "dtype", None), "names", None)
        if isinstance(X, Mapping):
            raw_table(X)  # refuses it, by what is accepted
        stored = isinstance(X, StoredTable)
        if structured or stored:
            # scikit-learn knows neither: their names are taken and compared here
            table = RawTable(X.names, (), X.n, X.values) if stored else raw_table(X)
            if reset:
                self.n_features_in_ = len(table.names or ())
                self.feature_names_in_ = np.array(table.names, dtype=object)
            elif tuple(getattr(self, "feature_names_in_", ())) != table.names:
                raise InvalidInput(
                    "X", described(X), "has other columns than the table that was fitted",
                    "give the same, in the same order",
                )  # fmt: skip
        else:
            if hasattr(X, "iloc") or hasattr(X, "get_columns"):
                validate_data(self, X, skip_check_array=True, reset=reset)
            else:
                checked = validate_data(
                    self, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=1
                )
                X = checked if isinstance(X, np.ndarray) else X
            table = raw_table(X)
        if table.n < 1:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(table.columns)})) while a minimum "
                "of 1 is required."
            )
        return table

    @staticmethod
    def _values(layout: Layout, table: RawTable) -> list[Words]:
        """The entries of the columns that are used, read one by one."""
        if table.values is not None:
            return [table.values[name] for name in layout.names]
        return [
            read_column(table.columns[place], column, name, layout.missing)
            for name, place, column in zip(layout.names, layout.places, layout.columns, strict=True)
        ]

    def _learn(
        self,
        layout: Layout,
        values: Sequence[Words | Summed],
        certificate: PipelineCertificate,
        entropy: Entropy,
    ) -> None:
        """Make what is learnt out of noisy sums, and keep that and nothing else."""
        stream = entropy.open("noise") if certificate.sums else None
        paid = {(part.column, part.kind): part for part in certificate.sums}
        codes = [
            _learnt(column, entries, {kind: paid[name, kind] for kind in column.sums}, stream)
            for name, column, entries in zip(layout.names, layout.columns, values, strict=True)
        ]
        self.layout_ = layout
        self.codes_ = tuple(codes)
        self.certificate_ = certificate

    # --- what was fitted ---

    @property
    def feature_bound_(self) -> float:
        """No encoded row is longer."""
        check_is_fitted(self)
        return float(self.layout_.bound)

    def transform(self, X: Any) -> Floats:
        """The rows of a table, each within `feature_bound_`."""
        check_is_fitted(self)
        return self._encoded(self._values(self.layout_, self._table(X, reset=False)))

    def _encoded(self, values: Sequence[Words]) -> Floats:
        triples = list(zip(self.codes_, values, self.layout_.columns, strict=True))
        rows = empty_rows(values, self.layout_.width)
        for part in blocks(len(rows), rows.shape[1] * 8):
            place = 0
            for code, entries, column in triples:
                rows[part, place : place + column.width] = code.block(entries[part], column)
                place += column.width
                if isinstance(entries, np.ndarray):
                    let_go(entries[part])
            let_go(rows[part])
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the encoded columns: those of the table, with `=category` and the like."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        layout = self.layout_
        triples = zip(self.codes_, layout.names, layout.columns, strict=True)
        found: dict[str, None] = {}
        for code, name, column in triples:
            for one in code.names(name, column):
                unique = one
                while unique in found:
                    unique += "'"
                found[unique] = None
        return np.array(list(found), dtype=object)

    def statement(self) -> str:
        """What the preparation cost, in words."""
        check_is_fitted(self)
        certificate: PipelineCertificate = self.certificate_
        return certificate.statement(delta=self.delta)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = self.random_state is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codes_")


def empty_rows(values: Sequence[Words], width: int) -> Floats:
    """Room for encoded rows, where the entries are: in memory, or on disk. All of them are 0."""
    n = len(values[0])
    first = values[0].codes if isinstance(values[0], CodedWords) else values[0]
    return on_disk((n, width)) if is_mapped(first) else np.zeros((n, width))


def _learnt(column: Column, entries: Any, paid: dict[str, NoisySum], stream: Stream | None) -> Code:
    """What a column becomes: declared, or learnt by the sums that are paid for."""
    if isinstance(column, Categorical):
        if column.categories is not None or stream is None:
            return CategoryCode(column.categories or ())
        return CategoryCode(
            frequent_categories(entries, column.most, paid["categories"], stream)
        )  # fmt: skip
    if not isinstance(column, Numeric):
        return TruthCode()
    if column.low is not None and column.high is not None:
        low, high = column.low, column.high
    elif stream is not None:
        low, high = learnt_range(entries, column.within, paid["histogram"], stream)
    if not column.standardised or stream is None:
        return NumberCode(low, high)
    mean, deviation = learnt_moments(
        entries, paid["moments"], stream, partial(scaled_to, low=low, high=high)
    )
    return NumberCode(low, high, mean, deviation)
