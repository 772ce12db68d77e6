"""The parts of scikit-learn pipelines that a model file may hold: a closed list, by name.

A transformer is held as its parameters and its attributes, which are plain data. It is made by its
constructor, which does nothing in scikit-learn but keep the parameters, and given its attributes.
Not on the list is what cannot be held so, and what keeps whole records (`KNNImputer`, `Nystroem`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from string import Formatter
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.values import Reader, Writer, fields_of

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
_UNTAUGHT = (
    *("Pipeline", "FeatureUnion"),
    "Binarizer",
    "FunctionTransformer",
    "GaussianRandomProjection",
    "Normalizer",
    "PolynomialCountSketch",
    "PolynomialFeatures",
    "SparseRandomProjection",
)  # whatever their settings, they keep of the data its shape, names and types, and no value
_SHAPE = ("n_features_in_", "feature_names_in_", "_sklearn_output_config")
_CODES = (
    *("categories_", "_infrequent_enabled", "_infrequent_indices"),
    "_default_to_infrequent_mappings",
)
_DIRECTIONS = (
    *("components_", "explained_variance_", "explained_variance_ratio_"),
    *("singular_values_", "_n_features_out"),
)
_PROJECTION = ("n_components_", "components_", "inverse_components_", "_n_features_out")
_OWN: dict[str, tuple[str, ...]] = {
    "Pipeline": (),
    "FeatureUnion": ("_transformers_feature_names_out",),
    "ColumnTransformer": (
        *("transformers_", "output_indices_", "sparse_output_", "_columns", "_remainder"),
        *("_transformer_to_input_indices", "_transformers_feature_names_out", "_n_features"),
    ),
    "Binarizer": (),
    "FunctionTransformer": (),
    "KBinsDiscretizer": ("bin_edges_", "n_bins_", "_encoder"),
    "MaxAbsScaler": ("max_abs_", "scale_", "n_samples_seen_"),
    "MinMaxScaler": (
        *("data_max_", "data_min_", "data_range_", "min_", "scale_", "n_samples_seen_"),
    ),
    "Normalizer": (),
    "OneHotEncoder": (*_CODES, "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs"),
    "OrdinalEncoder": (*_CODES, "_missing_indices"),
    "PolynomialFeatures": ("n_output_features_", "_max_degree", "_min_degree", "_n_out_full"),
    "PowerTransformer": ("lambdas_", "_scaler"),
    "QuantileTransformer": ("n_quantiles_", "quantiles_", "references_"),
    "RobustScaler": ("center_", "scale_"),
    "StandardScaler": ("mean_", "var_", "scale_", "n_samples_seen_"),
    "MissingIndicator": ("features_", "_n_features", "_precomputed"),
    "SimpleImputer": ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
    "FactorAnalysis": ("components_", "loglike_", "mean_", "n_iter_", "noise_variance_"),
    "IncrementalPCA": (
        *(*_DIRECTIONS, "mean_", "var_", "n_components_", "noise_variance_"),
        *("batch_size_", "n_samples_seen_"),
    ),
    "PCA": (
        *(*_DIRECTIONS, "mean_", "n_components_", "noise_variance_"),
        *("n_samples_", "_fit_svd_solver"),
    ),
    "TruncatedSVD": _DIRECTIONS,
    **dict.fromkeys(
        ("SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest", "SelectPercentile"),
        ("scores_", "pvalues_"),
    ),
    "VarianceThreshold": ("variances_",),
    "GaussianRandomProjection": _PROJECTION,
    "SparseRandomProjection": (*_PROJECTION, "density_"),
    "PolynomialCountSketch": ("indexHash_", "bitHash_", "_n_features_out"),
    "RBFSampler": ("random_weights_", "random_offset_", "_gamma", "_n_features_out"),
}  # the attributes that `fit` of scikit-learn 1.6 and later sets, beside those of `_SHAPE`
_SELECTOR = ("pattern", "dtype_include", "dtype_exclude")
_MOST_JOBS = 256  # processes that a file may ask for
_MEMORY = "memory"  # of a pipeline: a folder of this machine, which only fitting uses


def write_step(writer: Writer, value: Any, where: str) -> Any:
    """A transformer, a selector of columns or a known score as JSON; None for anything else."""
    name = _listed(value)
    if name is not None:
        return {"transformer": _transformer(writer, value, name, where)}
    import sklearn.feature_selection as selection
    from sklearn.compose import make_column_selector

    if type(value) is make_column_selector:
        fields = {field: writer.write(getattr(value, field), where) for field in _SELECTOR}
        return {"selector": fields}
    for function in _FUNCTIONS:
        if value is getattr(selection, function):
            return {"score": function}
    return None


def step_readers() -> dict[str, Any]:
    """How `Reader` reads what `write_step` wrote."""
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
    strange = sorted(set(attributes) - {*_SHAPE, *_OWN[name]})
    if strange:
        raise InvalidInput(
            f"{here}.{strange[0]}",
            f"<{type(attributes[strange[0]]).__name__}>",
            "is no attribute that fit sets, and cannot be held in a model file",
            "delete it from the step first",
        )
    return {
        "class": name,
        "parameters": {
            key: writer.write(item, f"{here}.{key}") for key, item in sorted(parameters.items())
        },
        "attributes": {
            key: writer.write(item, f"{here}.{key}") for key, item in attributes.items()
        },
    }


def read_transformer(reader: Reader, content: Any) -> Any:
    """The transformer that `write_step` wrote."""
    name, parameters, attributes = fields_of(content, ("class", "parameters", "attributes"))
    if not isinstance(name, str) or name not in TRANSFORMERS:
        raise Damaged("has a step of a class that is not on the list")
    kind = _class(name)
    if not isinstance(parameters, dict) or not set(parameters) <= set(kind._get_param_names()):
        raise Damaged("has a step with a parameter that its class does not have")
    if not isinstance(attributes, dict) or any(
        key not in (*_SHAPE, *_OWN[name]) or hasattr(kind, key) for key in attributes
    ):
        raise Damaged("has a step with an attribute that its class does not have")
    values = {key: reader.read(item) for key, item in parameters.items()}
    made = kind(**values)
    _require_harmless(made, values)
    vars(made).update({key: reader.read(item) for key, item in attributes.items()})
    return made


def _require_harmless(made: Any, values: dict[str, Any]) -> None:
    """Refuse parameters that scikit-learn does, and those that reach outside of the model.

    A later `fit` of a pipeline with a `memory` would write records to that folder and unpickle what
    lies there. Functions would be called, and processes started.
    """
    if hasattr(made, "_parameter_constraints"):
        try:
            made._validate_params()
        except (ValueError, TypeError):
            raise Damaged("has a step with a parameter that its class refuses") from None
    if any(not _HARMLESS[key](value) for key, value in values.items() if key in _HARMLESS):
        raise Damaged("has a step with a parameter that files cannot have")


def _is_none(value: Any) -> bool:
    return value is None


def _is_switch(value: Any) -> bool:
    return type(value) is bool


def _is_jobs(value: Any) -> bool:
    return value is None or (type(value) is int and abs(value) <= _MOST_JOBS)


def _is_arguments(value: Any) -> bool:
    """None, or arguments by name that are single values."""
    plain = (type(None), bool, int, float, str)
    return value is None or (
        type(value) is dict
        and all(type(key) is str and type(item) in plain for key, item in value.items())
    )


def _is_naming(value: Any) -> bool:
    """A switch, or a template that joins the names of the step and the column."""
    if type(value) is not str:
        return _is_switch(value)
    return all(
        field in (None, "transformer_name", "feature_name") and not form and not conversion
        for _, field, form, conversion in Formatter().parse(value)
    )


_HARMLESS: dict[str, Callable[[Any], bool]] = {
    _MEMORY: _is_none,
    "func": _is_none,
    "inverse_func": _is_none,
    "kw_args": _is_arguments,
    "inv_kw_args": _is_arguments,
    "feature_names_out": lambda value: value is None or value == "one-to-one",
    "feature_name_combiner": lambda value: value == "concat",
    "verbose_feature_names_out": _is_naming,
    "verbose": _is_switch,
    "n_jobs": _is_jobs,
}  # of whichever class has a parameter of that name


def _read_selector(reader: Reader, content: Any) -> Any:
    from sklearn.compose import make_column_selector

    pattern, include, exclude = (reader.read(item) for item in fields_of(content, _SELECTOR))
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
    found = [
        f"{name} ({type(step).__name__})"
        for name, step in steps_of(pipeline)
        if (kind := _listed(step)) is not None and _is_fitted(step) and _learns(kind, step)
    ]
    return list(dict.fromkeys(found))


def steps_of(composed: Any) -> Iterator[tuple[str, Any]]:
    """The steps inside of pipelines, unions and column transformers, however nested."""
    kind = _listed(composed)
    inside: list[Any] = []
    if kind == "Pipeline":
        inside = list(composed.steps)
    elif kind == "FeatureUnion":
        inside = list(composed.transformer_list)
    elif kind == "ColumnTransformer":
        # what was given is held beside what was fitted, and may have been fitted before
        given = [item[:2] for item in composed.transformers]
        inside = [item[:2] for item in getattr(composed, "transformers_", ())]
        inside += [*given, ("remainder", composed.remainder)]
    for name, step in inside:
        yield name, step
        yield from steps_of(step)


def _is_fitted(step: Any) -> bool:
    return not set(vars(step)) <= {*step.get_params(deep=False), "_sklearn_output_config"}


def _learns(kind: str, step: Any) -> bool:
    """Whether values of the data may be in the attributes: so it is unless it provably is not.

    The settings for which nothing but shape, names and types is kept are listed here. A column
    transformer compares the share of zeros with `sparse_threshold`, and keeps the answer; an
    imputer of a constant keeps which columns were empty, unless it is told to fill those too.
    """
    if kind in _UNTAUGHT:
        return False
    match kind:
        case "ColumnTransformer":
            return bool(step.sparse_threshold != 0 or step.sparse_output_)
        case "MissingIndicator":
            return bool(step.features != "all")
        case "OneHotEncoder" | "OrdinalEncoder":
            frequent = step.min_frequency is None and step.max_categories is None
            return isinstance(step.categories, str) or not frequent or step._infrequent_enabled
        case "RBFSampler":
            return isinstance(step.gamma, str) or step.gamma != getattr(step, "_gamma", None)
        case "SimpleImputer":
            constant = step.strategy == "constant" and step.keep_empty_features
            return not constant or step.add_indicator or step.indicator_ is not None
        case _:
            return True
