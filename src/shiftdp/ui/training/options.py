"""The options of `shiftdp train`, a group for each heading of its help.

An option goes into the group that it belongs to; one that only overrides the planner goes into
`PLAN`, and is handed to the model as it is.
"""

from __future__ import annotations

from typing import Any

from shiftdp.ui.options import ANSWER, SAMPLINGS, AnyCallable, answer_options, option_group
from shiftdp.ui.types import (
    BYTES,
    CHECKPOINTS,
    NUMBER,
    NUMBERS,
    InFile,
    Number,
    Numbers,
    OutFile,
    Word,
)

MODELS = {
    "logistic": "PrivateLogisticRegression",
    "svc": "PrivateLinearSVC",
    "huber": "PrivateHuberRegressor",
}
"""The classes in `shiftdp.sklearn`, by their names here."""

_ENDINGS = ("shiftdp", "skops")  # the latter of old: what is written is the same

DATA: dict[str, dict[str, Any]] = {
    "target": {"help": "The column, or the array, to predict."},
    "model": {
        "type": Word(tuple(MODELS)),
        "default": "logistic",
        "help": "Logistic regression, a linear SVC (two classes), or Huber regression.",
    },
    "classes": {
        "help": "All labels, with commas between them. Without it they are read off the data, "
        "which the certificate does not cover.",
    },
    "class_weights": {
        "type": Numbers("give one for each of --classes, in their order, such as 1,9"),
        "help": "What a record counts, for each of --classes in their order, such as 1,9. They "
        "must not be read off the data. Only ratios matter; the cost is the same.",
    },
    "width": {
        "type": NUMBER,
        "default": 1.0,
        "help": "Of the zone where the loss is a parabola (svc, huber).",
    },
    "schema": {
        "type": InFile(),
        "help": "What is public about the columns (TOML or JSON; shiftdp schema writes one): "
        "ranges, categories, missing entries. What it leaves out is learnt within the budget, and "
        'so are mean and deviation in declared ranges without scale = "range", if it is enough.',
    },
    "features": {
        "type": NUMBER,
        "help": "How many there are. svmlight needs it: it must not be read off the data.",
    },
    "first_index": {
        "type": Word(("0", "1")),
        "default": "1",
        "help": "The index of the first feature (svmlight).",
    },
    "memory": {
        "type": BYTES,
        "default": "2GB",
        "help": "What reading and training may add to what the program takes without a table, as "
        "512MB. A table that would take more is put into a temporary file (in the folder of "
        "TMPDIR) and read from there in blocks.",
    },
    "groups": {
        "help": "The column of numbers that says whose record each is (CSV, Parquet); it is no "
        "feature. With --records-per-person, a person is protected as a whole.",
    },
    "intercept": {"switch": True, "default": True, "help": "Join a constant, or not."},
}
COST: dict[str, dict[str, Any]] = {
    "feature_bound": {
        "type": NUMBER,
        "help": "Rows that are longer are scaled down to it. It must not be read off the data. "
        "Needed without --schema, which bounds the rows itself.",
    },
    "oversized": {
        "type": Word(("scale", "refuse")),
        "default": "scale",
        "help": "What happens to rows that are longer.",
    },
    "epsilon": {"type": NUMBER, "required": True, "help": "What the model may cost."},
    "adjacency": {
        "type": Word(("replace_one", "zero_out")),
        "default": "replace_one",
        "help": "Which data sets are neighbours.",
    },
    "ledger": {"type": InFile(), "help": "Charge this ledger before the run."},
    "random_state": {
        "type": NUMBER,
        "help": "A seed: the run can be repeated, and is NOT private.",
    },
}
PLAN: dict[str, dict[str, Any]] = {
    "algorithm": {
        "type": Word(("gd", "cgd", "sgd")),
        "help": "Full batches, batches in turn, or random ones.",
    },
    "order": {
        "type": Word(("fixed", "shuffled_once", "reshuffled")),
        "help": "Of batches in turn.",
    },
    "last_batch": {
        "type": Word(("own_size", "divide_by_b", "drop")),
        "help": "What is done with records that do not fill a batch; divide_by_b by default.",
    },
    "sampling": {
        "type": Word(SAMPLINGS),
        "help": "Of random batches. random_allocation puts each record into one batch of each "
        "epoch, and needs --adjacency zero_out; without_replacement needs replace_one.",
    },
    "batch_size": {"type": NUMBER, "help": "How many records a batch has."},
    "epochs": {"type": NUMBER, "help": "Passes over the data."},
    "learning_rate": {"type": NUMBER, "help": "The step size."},
    "l2": {"type": NUMBER, "help": "The ridge."},
    "clip": {"type": NUMBER, "help": "The norm that gradients are clipped to; inf for none."},
    "noise": {
        "type": NUMBER,
        "help": "On the mean gradient; refused if it costs more than --epsilon.",
    },
    "average": {
        "type": NUMBER,
        "help": "The model is the mean of those after so many last passes, and pays for each.",
    },
    "checkpoints": {
        "type": CHECKPOINTS,
        "help": "Models that are released beside the last one, and paid for: epochs, so many at "
        "equal distances, or epochs with commas between them (5,10). The file holds them.",
    },
    "centre": {
        "switch": True,
        "default": None,
        "help": "Train on the distances of rows from their mean, which a tenth of the budget at "
        "most measures with noise, or on rows as they are. By default where that pays, and never "
        "with --schema.",
    },
    "records_per_person": {
        "type": NUMBER,
        "default": 1,
        "help": "How many records of one person are used, of those that --groups tells apart.",
    },
    "penalty": {
        "type": Word(("l2", "l1", "elasticnet")),
        "default": "l2",
        "help": "A ridge alone, or beside it L1 or the elastic net, which make sparse models.",
    },
    "alpha": {"type": NUMBER, "default": 0.01, "help": "The strength of L1 or the elastic net."},
    "l1_ratio": {"type": NUMBER, "default": 0.5, "help": "The share of L1 in the elastic net."},
    "compute": {
        "type": NUMBER,
        "default": 1e11,
        "help": "How many multiplications the run may take.",
    },
}
SCORE: dict[str, dict[str, Any]] = {
    "tune": {
        "is_flag": True,
        "help": "Choose by private trials, within --epsilon: the bound on rows, from "
        "--feature-bound down to a thirtieth of it; with --schema the clip.",
    },
    "private_score": {
        "type": Number("give the epsilon that held-out records pay for the score, such as 0.5"),
        "metavar": "EPSILON",
        "help": "Measure the model with noise on records that it is not trained on. These pay this "
        "epsilon, and nothing for the model.",
    },
    "holdout": {
        "type": NUMBER,
        "help": "The part of the records that is held out for it, drawn at random; 0.2 by default.",
    },
    "score_range": {
        "type": NUMBERS,
        "help": "Of huber: LOW,HIGH that the target is clipped to in scores. It must not be read "
        "off the data.",
    },
}
RESULT: dict[str, dict[str, Any]] = {
    "output": {
        "short": "-o",
        "type": OutFile(_ENDINGS),
        "help": "Write the model to this file (.shiftdp).",
    },
    "force": {"is_flag": True, "help": "Replace a model that is there already."},
    "anyway": {
        "is_flag": True,
        "help": "Train also where the noise is predicted to be above the signal.",
    },
    "dry_run": {
        "is_flag": True,
        "help": "Show the plan and its certificate; of the data only the shape is read.",
    },
}


def training_options(command: AnyCallable) -> AnyCallable:
    """All of them, under their headings."""
    headings = (
        option_group("The data", **DATA),
        option_group("What it may cost", **COST),
        option_group("Instead of what the planner chooses", **PLAN),
        option_group("Choosing and measuring", **SCORE),
        option_group(ANSWER, **RESULT),
        answer_options("delta", "save"),
    )
    for heading in reversed(headings):  # as decorators, the last one is applied first
        command = heading(command)
    return command
