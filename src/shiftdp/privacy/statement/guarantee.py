"""The top of the pyramid: epsilon and its unit, the whole curve, and what it means for a person."""

from __future__ import annotations

import math

from shiftdp.last_iterate.certificate import release_in_words
from shiftdp.privacy.attack_risk import risk
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement.blocks import (
    Block,
    Bound,
    Grid,
    Items,
    Level,
    Line,
    Note,
    Picture,
    Section,
    line,
    pairs,
)
from shiftdp.privacy.statement.curve import drawing
from shiftdp.privacy.statement.releases import candidates, rows_of, runs_in
from shiftdp.privacy.statement.subject import Statement
from shiftdp.privacy.statement.words import neighbours, parameters, unit

DELTAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
"""Where the curve is tabulated."""

_RATES = (0.001, 0.01, 0.1)  # of false alarms in the table of attackers
_CANDIDATES = 10  # equally likely records, for the sentence on reconstruction


def guarantee_level(statement: Statement) -> Level:
    """What is promised, to whom, and how it is measured."""
    sections = [_numbers(statement), _promise(statement), _curve(statement), _run(statement)]
    return Level(
        "The guarantee",
        "The numbers, whom they protect, and what they mean.",
        tuple(sections),
    )


def _numbers(statement: Statement) -> Section:
    core, whole = statement.core, statement.certificate
    run = None if core is None else core.run
    short, long = unit(run)
    mu = whole.mu
    rows: list[tuple[str, str | Line]] = [
        (
            "Epsilon",
            line(Bound(whole.epsilon(statement.delta)), f" at delta = {statement.delta:g}"),
        ),
        ("Delta", f"{statement.delta:g}"),
        ("Mu", "none: the curve is not that of Gaussian differential privacy")
        if mu is None
        else ("Mu", line(Bound(mu), " (Gaussian differential privacy)")),
        ("Unit of privacy", f"{short[0].upper()}{short[1:]}. {long}"),
        ("Neighbouring data", neighbours(statement.adjacency, run)),
        ("Kind of number", _kind(statement)),
    ]
    return Section("Epsilon and its unit", (pairs(rows),))


def _kind(statement: Statement) -> str:
    kinds = {run.kind for run in runs_in(statement.certificate)} - {"certified"}
    if not kinds:
        return "certified: a proved upper bound, rounded up; no estimate"
    return (
        f"{', '.join(sorted(kinds))}: a bound that rests on a theorem which shiftdp has not checked"
    )


def _promise(statement: Statement) -> Section:
    """What the best attacker can gain, in sentences. Bounds of `risk`."""
    core = statement.core
    deleted = core is not None and core.run.deletes
    found = risk(statement.certificate, fpr=_RATES, candidates=_CANDIDATES)
    if deleted:
        question = "whether the deleted records were ever used"
    elif statement.adjacency == "zero_out":
        question = "whether the record was used or left out"
    else:
        question = "whether it is this record that was used or another in its place"
    lines = [
        line(
            "Take somebody who knows all other records, the method and everything that is "
            f"released, and who has any amount of computing. Of one person this attacker wants to "
            f"know {question}, and holds both for equally likely. The answer is then right with "
            "probability at most ",
            Bound(found.membership, "percent"),
            "; a coin is right with 50%.",
        ),
        line(
            "The share of used records that the attacker recognises exceeds the share of false "
            "alarms by at most ",
            Bound(found.advantage, "percent"),
            " (percentage points).",
        ),
        line(
            f"If, without the release, a record is one of {_CANDIDATES} that are equally likely, "
            "then with it the attacker names the right one with probability at most ",
            Bound(found.reconstruction, "percent"),
            f" instead of {100 // _CANDIDATES}%.",
        ),
        line(
            f"This holds for {'each deleted record' if deleted else 'every person in the data'}, "
            "also the least typical one, and whatever else becomes known later. What the data say "
            "about people in general is not hidden: that is what is learnt."
        ),
    ]
    rows = tuple(
        (
            line(f"{100 * row.fpr:g}%"),
            line(Bound(row.tpr, "percent")),
            line(Bound(row.precision, "percent")),
        )
        for row in found.accusations
    )
    columns = ("False alarms", "Records recognised, at most", "An alarm is right, at most")
    blocks: list[Block] = [Items(tuple(lines)), Grid(columns, rows)]
    if not statement.private:
        blocks.insert(0, not_private())
    return Section("The promise in plain words", tuple(blocks))


def not_private() -> Note:
    """What stands on a statement whose noise can be drawn again."""
    return Note(
        line(
            "NOT PRIVATE: the noise came from a seed, and whoever knows it can undo it. The "
            "numbers below would hold for the same run with the entropy of the operating system."
        ),
        loud=True,
    )


def _curve(statement: Statement) -> Section:
    """The tradeoff function, and epsilon at several deltas."""
    deltas = sorted({*DELTAS, statement.delta}, reverse=True)
    rows = tuple(
        (line(f"{delta:g}"), line(Bound(statement.certificate.epsilon(delta)))) for delta in deltas
    )
    text = (
        "Every attacker lies on or above the curve: whoever raises few false alarms misses much. "
        "The dashed line is guessing. The table reads the same curve as epsilon at other deltas, "
        "each a proved bound."
    )
    if any(isinstance(part, Bound) and math.isinf(part.value) for _, (part,) in rows):
        text += " At deltas marked inf no finite epsilon is proved."
    title = "What any attacker must miss"
    return Section(
        "The whole curve",
        (Note(line(text)), Picture(title, drawing(statement.f)), Grid(("Delta", "Epsilon"), rows)),
    )


def _run(statement: Statement) -> Section:
    whole, core = statement.certificate, statement.core
    rows: list[tuple[str, str | Line]] = []
    if core is not None:
        rows += [("What was run", core.run.in_words), ("Released", release_in_words(core))]
    if isinstance(whole, (SelectionCertificate, ScoreCertificate)):
        rows += rows_of(whole, statement.delta)
    if isinstance(whole, PipelineCertificate):
        rows.append(("Preparation", _prepared(whole)))
        if core is not None:
            rows.append(
                ("The model by itself", line("epsilon ", Bound(core.epsilon(statement.delta))))
            )
    blocks: list[Block] = [pairs(rows)] if rows else []
    if isinstance(whole, SelectionCertificate):
        blocks.append(candidates(whole, statement.delta))
    if core is not None:
        blocks.append(pairs(parameters(core.run)))
    return Section("What was run and what is released", tuple(blocks))


def _prepared(whole: PipelineCertificate) -> str:
    if not whole.sums:
        return "Public: it learnt nothing from the records and costs nothing."
    noun = "sum is" if len(whole.sums) == 1 else "sums are"
    return f"{len(whole.sums)} {noun} released with noise, and counted in epsilon; listed below."
