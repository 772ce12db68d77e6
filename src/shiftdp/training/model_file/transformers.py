"""The parts of scikit-learn pipelines that a model file may hold: a closed list, by name.

A transformer is held as its parameters and its attributes, which are plain data. It is made by its
constructor, which does nothing in scikit-learn but keep the parameters, and given its attributes.
Not on the list is what cannot be held so, and what keeps whole records (`KNNImputer`, `Nystroem`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from shiftdp.training.model_file.damage import Damaged
from shiftdp.training.model_file.values import Reader, Writer, field_of

__all__ = ["TRANSFORMERS", "learnt_steps", "read_transformer", "special", "specials"]

TRANSFORMERS: dict[str, str] = {
    **dict.fromkeys(("Pipeline", "FeatureUnion"), "sklearn.pipeline"),
    "ColumnTransformer": "sklearn.compose",
    **dict.fromkeys(
        (
            "Binarizer",
            "FunctionTransformer",
            "KBinsDiscretizer",
            "MaxAbsScaler",
            "MinMaxScaler",
            "Normalizer",
            "OneHotEncoder",
            "OrdinalEncoder",
            "PolynomialFeatures",
            "PowerTransformer",
            "QuantileTransformer",
            "RobustScaler",
            "StandardScaler",
        ),
        "sklearn.preprocessing",
    ),
    **dict.fromkeys(("MissingIndicator", "SimpleImputer"), "sklearn.impute"),
    **dict.fromkeys(
        ("FactorAnalysis", "IncrementalPCA", "PCA", "TruncatedSVD"), "sklearn.decomposition"
    ),
    **dict.fromkeys(
        (
            "SelectFdr",
            "SelectFpr",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
            "VarianceThreshold",
        ),
        "sklearn.feature_selection",
    ),
    **dict.fromkeys(
        ("GaussianRandomProjection", "SparseRandomProjection"), "sklearn.random_projection"
    ),
    **dict.fromkeys(("PolynomialCountSketch", "RBFSampler"), "sklearn.kernel_approximation"),
}
"""The classes, with the public modules that they come from."""

_FUNCTIONS = (
    "chi2",
    "f_classif",
    "f_regression",
    "mutual_info_classif",
    "mutual_info_regression",
    "r_regression",
)  # of sklearn.feature_selection: the scores of SelectKBest and others
_COMPOSED = ("Pipeline", "FeatureUnion", "ColumnTransformer")
_UNTAUGHT = (
    *_COMPOSED,
    "Binarizer",
    "FunctionTransformer",
    "GaussianRandomProjection",
    "MissingIndicator",
    "Normalizer",
    "PolynomialCountSketch",
    "PolynomialFeatures",
    "RBFSampler",
    "SparseRandomProjection",
)  # nothing in their attributes depends on the values in the data
_SELECTOR = ("pattern", "dtype_include", "dtype_exclude")
_ATTRIBUTE = re.compile(r"_{0,1}[a-zA-Z][a-zA-Z0-9_]{0,60}")
_MEMORY = "memory"  # of a pipeline: a folder of this machine, which only fitting uses


def special(writer: Writer, value: Any, where: str) -> Any:
    """A transformer, a selector of columns or a known score as JSON; None for anything else."""
    name = _listed(value)
    if name is not None:
        return {"transformer": _transformer(writer, value, name, where)}
    import sklearn.feature_selection as selection
    from sklearn.compose import make_column_selector

    if type(value) is make_column_selector:
        fields = {field: writer.written(getattr(value, field), where) for field in _SELECTOR}
        return {"selector": fields}
    for function in _FUNCTIONS:
        if value is getattr(selection, function):
            return {"score": function}
    return None


def specials() -> dict[str, Any]:
    """How `Reader` reads what `special` wrote."""
    return {"transformer": read_transformer, "selector": _read_selector, "score": _read_score}


def _listed(value: Any) -> str | None:
    kind = type(value)
    name = kind.__name__
    # the class itself, not another of that name
    return name if name in TRANSFORMERS and _class(name) is kind else None


def _class(name: str) -> Any:
    return getattr(import_module(TRANSFORMERS[name]), name)


def _transformer(writer: Writer, value: Any, name: str, where: str) -> dict[str, Any]:
    parameters = dict(value.get_params(deep=False))
    attributes = {key: item for key, item in vars(value).items() if key not in parameters}
    if _MEMORY in parameters:
        parameters[_MEMORY] = None
    here = f"{where} ({name})"
    return {
        "class": name,
        "parameters": {
            key: writer.written(item, f"{here}.{key}") for key, item in sorted(parameters.items())
        },
        "attributes": {
            key: writer.written(item, f"{here}.{key}") for key, item in attributes.items()
        },
    }


def read_transformer(reader: Reader, content: Any) -> Any:
    """The transformer that `special` wrote."""
    name, parameters, attributes = field_of(content, ("class", "parameters", "attributes"))
    if not isinstance(name, str) or name not in TRANSFORMERS:
        raise Damaged("has a step of a class that is not on the list")
    kind = _class(name)
    if not isinstance(parameters, dict) or not set(parameters) <= set(kind._get_param_names()):
        raise Damaged("has a step with a parameter that its class does not have")
    if not isinstance(attributes, dict) or any(
        not _ATTRIBUTE.fullmatch(key) or hasattr(kind, key) or key in parameters
        for key in attributes
    ):
        raise Damaged("has a step with an attribute that its class does not have")
    made = kind(**{key: reader.read(item) for key, item in parameters.items()})
    vars(made).update({key: reader.read(item) for key, item in attributes.items()})
    return made


def _read_selector(reader: Reader, content: Any) -> Any:
    from sklearn.compose import make_column_selector

    pattern, include, exclude = (reader.read(item) for item in field_of(content, _SELECTOR))
    return make_column_selector(pattern, dtype_include=include, dtype_exclude=exclude)


def _read_score(reader: Reader, name: Any) -> Any:
    import sklearn.feature_selection as selection

    if name not in _FUNCTIONS:
        raise Damaged("has a name that is not known")
    return getattr(selection, name)


def learnt_steps(pipeline: Any) -> list[str]:
    """The steps before the model whose attributes were read off the data, by their names.

    No certificate covers them: means, ranges and categories are released as they are.
    """
    return [
        f"{name} ({type(step).__name__})"
        for name, step in _steps(pipeline)
        if (kind := _listed(step)) is not None and _learns(kind, step)
    ]


def _steps(composed: Any) -> Iterator[tuple[str, Any]]:
    """The steps inside of pipelines, unions and column transformers, however nested."""
    kind = _listed(composed)
    inside: list[Any] = []
    if kind == "Pipeline":
        inside = list(composed.steps)
    elif kind == "FeatureUnion":
        inside = list(composed.transformer_list)
    elif kind == "ColumnTransformer":
        inside = [item[:2] for item in getattr(composed, "transformers_", ())]
    for name, step in inside:
        yield name, step
        yield from _steps(step)


def _learns(kind: str, step: Any) -> bool:
    if kind in _UNTAUGHT:
        return False
    if kind in ("OneHotEncoder", "OrdinalEncoder"):
        return isinstance(step.categories, str)
    return not (kind == "SimpleImputer" and step.strategy == "constant")
