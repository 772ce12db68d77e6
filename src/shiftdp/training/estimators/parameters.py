"""The parameters of the models, each described once; `help` lists them for each model.

All of them are public: whatever is given must not be read off the data.
"""

from __future__ import annotations

import inspect
import textwrap
from functools import update_wrapper
from types import FunctionType
from typing import Literal, TypeVar

Penalty = Literal["l2", "l1", "elasticnet"]
Model = TypeVar("Model", bound=type)

ALPHA = (
    0.01  # the strength of an L1 penalty, of the size of a ridge that helps a few hundred records
)
DELTA = 1e-5  # unless another is given: less than one over the records of most tables

_LINE = 92  # characters a line of `help` may have

PARAMETERS: dict[str, tuple[str, str]] = {
    "epsilon": ("float", "What the released model may cost, at `delta`."),
    "delta": ("float", "The probability that goes with `epsilon`."),
    "feature_bound": (
        "float",
        "Rows of X that are longer are scaled down to it, in `fit` and in `predict`. It must be "
        "public: it is never read off the data. If it is not given, 1 is assumed, and `fit` warns.",
    ),
    "classes": (
        "list of labels",
        "All labels there are. Without it they are read off the data, which the certificate does "
        "not cover, and `fit` warns of.",
    ),
    "class_weight": (
        "dict of labels and weights",
        "How much a record counts, by its label. Only ratios matter: weights are divided by the "
        "largest, so that the certificate is the same as without them, and records of smaller "
        "weight are heard less above the noise. They must be public, as are shares of classes that "
        "are known beforehand: they are never read off the data.",
    ),
    "width": ("float", "Of the zone where the loss is a parabola."),
    "adjacency": (
        '"replace_one" or "zero_out"',
        "Which data sets are neighbours: one record is another, or counts for nothing.",
    ),
    "fit_intercept": ("bool", "Whether a constant is joined to the features."),
    "algorithm": (
        '"gd", "cgd" or "sgd"',
        "Full batches, batches in turn, or random ones. This and what follows, to `bounds`, is "
        "chosen by the planner unless it is given.",
    ),
    "order": (
        '"fixed", "shuffled_once" or "reshuffled"',
        "Of the records, with batches in turn.",
    ),
    "last_batch": (
        '"own_size", "divide_by_b" or "drop"',
        "What is done with records that do not fill a batch in turn.",
    ),
    "sampling": (
        '"without_replacement", "poisson" or "random_allocation"',
        'How random batches are drawn. `random_allocation` needs `adjacency="zero_out"`.',
    ),
    "batch_size": ("int", "How many records a batch has."),
    "epochs": ("float", "Passes over the data."),
    "learning_rate": ("float", "The step size."),
    "l2": ("float", "The ridge: (l2/2)|w|^2 is added to the loss, intercept included."),
    "clip": ("float", "The norm that gradients are clipped to; inf for none."),
    "noise": (
        "float",
        "Its standard deviation on the mean gradient; refused if it costs more than `epsilon`.",
    ),
    "bounds": ('"best", "paper" or "composition"', "Which theorems are used, as in `certify`."),
    "checkpoints": (
        '"epochs", int or list of epochs',
        "Which models are released beside the last one, in `releases_`: after each pass over the "
        "data, so many at equal distances, or after these passes. The noise is enough for all of "
        "them together (Theorem V1).",
    ),
    "average": (
        "int",
        "`coef_` is the mean of the models after so many last passes. It costs what releasing each "
        "of them does, and they are in `releases_` too.",
    ),
    "centre": (
        "bool",
        "Whether the model is trained on the distances of rows from their mean, which a tenth of "
        "the budget at most measures with noise; `coef_` and `intercept_` are for X as it is. It "
        "pays where rows lie far from 0 and costs a little where they lie around 0 already, as "
        "after a public standardisation: give False then, or if the model is to `forget`. None: "
        "where n, the number of features and the budget make that noise small, for dense X and "
        "one record a person, if of the run no more than epochs, clip or full batches is given "
        "(Theorem P2).",
    ),
    "records_per_person": (
        "int",
        "How many records one person may have, who is protected as a whole; `fit` is then given "
        "`groups`, and uses the first so many of each person (Theorem V4).",
    ),
    "penalty": (
        '"l2", "l1" or "elasticnet"',
        "`l2`: a ridge, chosen by the planner or given as `l2`. `l1` and `elasticnet`: besides, "
        "the prox of alpha |w|_1, or of alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2), in each "
        "step; weights that it sets to 0 are 0 in the released model (Theorem V5).",
    ),
    "alpha": ("float", "The strength of that penalty."),
    "l1_ratio": ("float", "The share of L1 in it, from 0 to 1."),
    "compute": ("float", "How many multiplications a fit may take."),
    "oversized": ('"scale" or "refuse"', "What happens to rows above the bound."),
    "ledger": (
        "Ledger or path",
        "Charged before each fit; a fit that does not fit its budget is refused.",
    ),
    "random_state": (
        "int or RandomState",
        "None draws from the operating system. Anything else makes the run reproducible and NOT "
        "private, which the certificate says.",
    ),
}
"""Kind and meaning, by name."""

ATTRIBUTES = {
    "coef_, intercept_": "The released parameters.",
    "plan_": "What was chosen, and why.",
    "certificate_": "The proved guarantee.",
    "centre_, distance_": "Of centred rows, where they lie and how far from there most of them "
    "are, both measured with noise. `coef_` is feature_bound/distance_ times what was trained.",
    "releases_": "With checkpoints or an average, all models that were released, as (step, coef, "
    "intercept).",
    "stream_": "After `partial_fit`, the stream and how many windows it had.",
    "further_certificate_": "After `forget`, what it cost those who stay.",
    "classes_, classes_learnt_": "Of a classifier, the classes, and whether they were read off the "
    "labels.",
    "not_covered_": "What around the fit learnt from the records too and is not covered; only if "
    "there was something.",
}
"""What a fitted model has."""


def documented(model: Model) -> Model:
    """A model whose docstring goes on with its parameters, in the order of its signature."""
    given = inspect.signature(model).parameters.values()
    listed = [
        _entry(f"{one.name} : {PARAMETERS[one.name][0]}, default={one.default!r}", text)
        for one in given
        for text in [PARAMETERS[one.name][1]]
    ]
    fitted = [_entry(name, text) for name, text in ATTRIBUTES.items()]
    parts = [
        inspect.cleandoc(model.__doc__ or ""),
        "\n".join(["Parameters", "----------", *listed]),
        "\n".join(["Attributes", "----------", *fitted]),
    ]
    model.__doc__ = "\n\n".join(parts) + "\n"
    return with_own_methods(model)


def with_own_methods(model: Model) -> Model:
    """The class with copies of the public methods that it inherits from classes of this library.

    They do what they did; but where Python refuses their arguments it names the class that users
    know, `PrivateLogisticRegression.fit()`, and not the one that they are written in.
    """
    for name in dir(model):
        method = inspect.getattr_static(model, name)
        if name.startswith("_") or name in vars(model) or not isinstance(method, FunctionType):
            continue
        if method.__module__.startswith("shiftdp."):
            own = FunctionType(
                method.__code__,
                method.__globals__,
                method.__name__,
                method.__defaults__,
                method.__closure__,
            )
            update_wrapper(own, method)
            own.__kwdefaults__ = method.__kwdefaults__
            own.__qualname__ = f"{model.__name__}.{name}"
            del vars(own)["__wrapped__"]  # it is the method itself, not one around it
            setattr(model, name, own)
    return model


def _entry(heading: str, text: str) -> str:
    return heading + "\n" + textwrap.indent(textwrap.fill(text, _LINE), "    ")
