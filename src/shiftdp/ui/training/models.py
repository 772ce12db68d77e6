"""The estimator that the options of `shiftdp train` describe."""

from __future__ import annotations

from typing import Any

import click

from shiftdp._checks import count
from shiftdp._errors import InvalidInput
from shiftdp.ui.training.options import MODELS, PLAN


def estimator_of(options: dict[str, Any]) -> Any:
    """The model that the options ask for, not fitted."""
    from shiftdp.training.descent.entropy import MissingPackage

    try:
        import shiftdp.sklearn as room
    except MissingPackage as error:
        raise click.ClickException(str(error)) from None
    kind = options["model"]
    shared = {name: options[name] for name in PLAN}
    shared["records_per_person"] = count("records_per_person", options["records_per_person"], 1)
    for name in ("classes", "class_weights"):
        if kind == "huber" and options[name] is not None:
            remedy = "leave it out, or take another --model"
            raise InvalidInput(name, options[name], "is for classes, and huber has none", remedy)
    if kind != "huber":
        shared["classes"] = classes_of(options["classes"])
        shared["class_weight"] = weights_of(options)
    if kind != "logistic":
        shared["width"] = options["width"]
    return getattr(room, MODELS[kind])(
        epsilon=options["epsilon"],
        delta=options["delta"],
        feature_bound=options["feature_bound"],
        adjacency=options["adjacency"],
        fit_intercept=options["intercept"],
        oversized=options["oversized"],
        ledger=options["ledger"],
        random_state=options["random_state"],
        **shared,
    )


def classes_of(given: str | tuple[str, ...] | None) -> list[Any] | None:
    """The labels of the command line, with commas between them, or those of a schema."""
    if given is None:
        return None
    words = [word.strip() for word in (given.split(",") if isinstance(given, str) else given)]
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return list(words)


def weights_of(options: dict[str, Any]) -> dict[Any, float] | None:
    """--class-weights, by the labels of --classes."""
    given = options["class_weights"]
    if given is None:
        return None
    weights = given if isinstance(given, tuple) else (given,)
    classes = classes_of(options["classes"])
    if classes is None or len(classes) != len(weights):
        problem = "has no classes beside it" if classes is None else "is not one for each class"
        raise InvalidInput(
            "class_weights", given, problem, "give a weight for each of --classes, in their order"
        )
    return dict(zip(classes, weights, strict=True))


def learns_classes(options: dict[str, Any]) -> bool:
    """Whether the classes are read off the labels, which the certificate does not cover."""
    return options["model"] != "huber" and options["classes"] is None
