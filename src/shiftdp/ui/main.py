"""The program `shiftdp`: a list of commands, each in a module that is loaded when it is used."""

from __future__ import annotations

import sys

from shiftdp.ui.group import LazyGroup

COMMANDS = {
    "account": "What a run costs: epsilon, mu, the theorem and its hypotheses.",
    "audit": "Attack the guarantees: exact instances, the real trainer, your own model.",
    "calibrate": "The noise, the number of epochs, ... that just meets a privacy budget.",
    "compare": "The same run under every accountant, and what is unavoidable.",
    "demo": "A private model of handwritten digits, and what every accountant charges for it.",
    "explore": "Explore what a run reveals on a page of this machine, in a browser.",
    "frontier": "Epsilon against one parameter, as a table, a CSV file or a plot.",
    "inspect": "Show what a model file holds: coefficients and their noise, plan, certificate, "
    "statement.",
    "ledger": "The account of one data set: every release, charged before it runs.",
    "predict": "Predict with a model that `shiftdp train` or `save_model` wrote.",
    "reproduce": "Every table and figure of the paper, computed again beside what was printed.",
    "risk": "What a guarantee means for one person, in words.",
    "schema": "Write a template of what is public about a table, to be filled in.",
    "statement": "A guarantee as a page to read, sign and check; for a registry, for a model card.",
    "train": "Train a private linear model on a table, and certify it.",
    "unlearn": "How many further steps make a model forget a record, and what is then left of it.",
    "verify": "Check a certificate, a model file or a statement, without trusting it.",
}
"""To add a command: a line here, and a module of that name in `shiftdp.ui.commands` with a
`command` in it. The line is the first sentence of its help."""

_OF_FILES = ("inspect", "predict", "schema", "statement", "verify")

program = LazyGroup(
    "shiftdp",
    home="shiftdp.ui.commands",
    summaries=COMMANDS,
    rooms=dict.fromkeys(_OF_FILES, "files"),
    help="What the last iterate of noisy gradient descent costs in privacy, with a proof for "
    "every number.",
    examples=(
        "shiftdp account cgd --n 60000 --batch-size 1500 --epochs 50 --learning-rate 0.05 "
        "--noise 0.01 --strong-convexity 0.002 --smoothness 32.502 --sensitivity 10 --delta 1e-5",
    ),
)


def main() -> None:
    program.main(sys.argv[1:], prog_name="shiftdp")
