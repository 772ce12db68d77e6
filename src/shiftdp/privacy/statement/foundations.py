"""The middle of the pyramid: what the guarantee rests on, and what would undermine it."""

from __future__ import annotations

from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.runs import Run, has_releases, people
from shiftdp.last_iterate.theorems.registry import THEOREMS
from shiftdp.privacy.noisy_sums import of_declared_ranges
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement.blocks import (
    Block,
    Bound,
    Grid,
    Level,
    Line,
    Note,
    Section,
    clean,
    line,
    pairs,
    sentences,
)
from shiftdp.privacy.statement.evidence import MEANINGS, standing
from shiftdp.privacy.statement.releases import runs_in, secrets_of, sums_in, theorems_of
from shiftdp.privacy.statement.subject import LedgerFacts, Statement


def foundations_level(statement: Statement) -> Level:
    """The proof, its hypotheses and their evidence, trust, noise, selection, other releases."""
    return Level(
        "What it rests on, and what would void it",
        "The proof with its hypotheses, the trust that is asked for, the noise, and what else was "
        "released.",
        (
            _hidden(statement),
            _trust(statement),
            _theorem(statement),
            *_sums(statement),
            _selection(statement),
            _noise(statement),
            _others(statement.ledger),
        ),
    )


def _hidden(statement: Statement) -> Section:
    core = statement.core
    run = None if core is None else core.run
    hidden = ["the raw records", "the noise, and what it was drawn from"]
    hidden += secrets_of(statement.certificate)
    if run is not None:
        shown = "all iterates but those that are released" if _several(run) else (
            "all iterates but the last"
        )  # fmt: skip
        hidden += [shown, "gradients, losses and scores on the training data"]
        if run.secret_batches:
            hidden.append("which records were in which batch")
    elif (runs := runs_in(statement.certificate)) != ():
        hidden += ["all iterates but what is released", "gradients, losses and scores"]
        if any(one.run.secret_batches for one in runs):
            hidden.append("which records were in which batch")
    return Section(
        "What is hidden and what would void it",
        (
            pairs([("Hidden", f"{', '.join(hidden[:-1])} and {hidden[-1]}.")]),
            Note(line("The guarantee is void, for those concerned, if any of this happens:")),
            sentences(*_voiding(statement, run)),
        ),
    )


def _voiding(statement: Statement, run: Run | None) -> list[str]:
    found = ["Something of what is hidden is published, logged, or seen by somebody outside."]
    if run is not None:
        found.append(
            "A parameter of the run (noise, rates, length, bounds of features, clip) was chosen by "
            "looking at these data, without that being paid for."
        )
        if run.secret_batches:
            found.append("The order or the sampling was chosen, predicted or published.")
        if people(run) > 1:
            found.append(f"A person has more than {people(run)} records.")
        elif not run.deletes:
            found.append("A person has more than one record: then it holds for each record alone.")
        if run.streams:
            found.append("A record is used again later in the stream.")
        if run.deletes:
            found.append(
                "An earlier model, a checkpoint or a backup with the deleted records is still in "
                "use: of those it says nothing."
            )
    found += _of_releases(statement.certificate)
    found += [
        "The noise can be drawn again: a seed, a broken generator, a cloned machine.",
        "Something else is released about the same records and is not added up (see below).",
        "The losses are not of the class that is assumed, or a hypothesis below fails otherwise.",
    ]
    if statement.model is not None:
        found += [f"Not covered here: {clean(leak)}." for leak in statement.model.not_covered]
    return found


def _of_releases(whole: AnyCertificate) -> list[str]:
    """What voids the guarantee of a search or of a score."""
    if isinstance(whole, SelectionCertificate):
        return [
            "Somebody learns how many trials there were, from a log, a duration or a bill.",
            "A candidate, or the law of the number of trials, was chosen by looking at these data.",
            "Any other trial is released, or the search is repeated and the better one kept.",
            "A person has more than one record: then it holds for each record alone.",
        ]
    if isinstance(whole, ScoreCertificate):
        return [
            "A person has more than one record: then it holds for each record alone.",
            "The model was trained on a scored record: that person pays for both.",
        ]
    return []


def _several(run: Run) -> bool:
    return run.streams or has_releases(run)


def _trust(statement: Statement) -> Section:
    core = statement.core
    rows = [
        ("Model", "central: one holder has the raw records, and runs the method"),
        (
            "Trusted",
            "the holder of the data, the machine, and the software that ran; they see everything",
        ),
        (
            "Not trusted",
            "everybody who sees what is released, together, for ever, with any other knowledge",
        ),
        (
            "Side channels",
            "running times, memory, logs and error messages are not covered; do not publish them",
        ),
    ]
    if core is not None:
        rows.insert(0, ("Sampling as run", f"{core.run.batches_in_words}."))
        if LOOP_ASSUMPTIONS["records"] in core.assumptions:
            rows.append(("Training loop", "a loop of the user's own, watched by the plug-in"))
    return Section("Sampling and trust", (pairs(rows),))


def _theorem(statement: Statement) -> Section:
    core = statement.core
    whole = statement.certificate
    if core is None:
        blocks: list[Block] = [Note(line(f"{theorems_of(whole)}: {_CORELESS[type(whole)]}"))]
        if isinstance(whole, SelectionCertificate):
            blocks.append(_hypotheses(runs_in(whole)))
        return Section("Theorem and hypotheses", tuple(blocks))
    return Section(
        "Theorem and hypotheses",
        (
            pairs([("Theorem", _cited(core)), ("Losses", _losses(core))]),
            _hypotheses((core,)),
        ),
    )


_CORELESS: dict[type, str] = {
    PipelineCertificate: "noisy sums; what each costs follows from its kind and noise.",
    ScoreCertificate: "noisy sums of scores; what each costs follows from its kind and noise.",
    SelectionCertificate: "the best of a random number of trials is released; what that costs "
    "follows from the law of their number, the worst candidate and the noise of the score. Each "
    "fit rests on the hypotheses below.",
}
"""How the theorems bear on what has no run of its own."""


def _hypotheses(runs: tuple[Certificate, ...]) -> Grid:
    """Those of all runs, each once, with how it is known."""
    rows = dict.fromkeys(
        (line(clean(item.name)), line(clean(item.statement)), line(MEANINGS[standing(item, run)]))
        for run in runs
        for item in run.assumptions
    )
    return Grid(("Hypothesis", "What is assumed", "How it is known"), tuple(rows))


def _cited(core: Certificate) -> str:
    for theorem in THEOREMS:
        if theorem.name == core.bound:
            return core.bound if theorem.citation == core.bound else (
                f"{core.bound}; {theorem.citation}"
            )  # fmt: skip
    return f"{clean(core.bound)}, a theorem of the user's own, which shiftdp has not checked"


def _losses(core: Certificate) -> str:
    shown = (
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else f'{value:.6g}'}"
        for name, value in core.geometry.stated().items()
        if value is not None
    )
    return ", ".join(shown)


def _sums(statement: Statement) -> tuple[Section, ...]:
    whole = statement.certificate
    sums = sums_in(whole)
    if not sums:
        return ()
    rows = tuple(
        (
            line(one.kind),
            line(clean(str(one.column))),
            line(f"{one.noise:g}"),
            line("-" if one.threshold is None else f"{one.threshold:g}"),
        )
        for one in sums
    )
    columns = ("Sum", "Column", "Noise", "Released from")
    prepared = isinstance(whole, PipelineCertificate)
    heading = "What the preparation learnt, with noise" if prepared else "Scores, with noise"
    if not (prepared and of_declared_ranges(sums)):
        return (Section(heading, (Grid(columns, rows),)),)
    text = (
        "Moments of a column without a histogram are of a range that was declared: it was "
        "standardised by a mean and a deviation that were learnt within it."
    )
    return (Section(heading, (Grid(columns, rows), Note(line(text)))),)


def _selection(statement: Statement) -> Section:
    heading = "How hyper-parameters were chosen"
    if isinstance(statement.certificate, SelectionCertificate):
        text = (
            "By the private search above, which is paid for: the guarantee is of all its trials "
            "together. The candidates were fixed before it saw the data."
        )
        return Section(heading, (Note(line(text)),))
    if isinstance(statement.certificate, ScoreCertificate):
        text = "Nothing was chosen: a model that was released before is measured."
        return Section(heading, (Note(line(text)),))
    text = (
        "The certificate is about one run whose parameters were fixed before it saw the data. Each "
        "further run on the same data, of a search for the best parameters too, is a release of "
        "its own and has to be added up."
    )
    blocks: list[Block] = [Note(line(text))]
    if statement.model is not None and statement.model.reasons:
        blocks.append(
            Note(line("The plan was made from public numbers, before any record was read:"))
        )
        blocks.append(sentences(*(clean(reason) for reason in statement.model.reasons)))
    elif statement.core is None or statement.core.training is None:
        blocks.append(Note(line("How the parameters were chosen is not part of the certificate.")))
    return Section(heading, tuple(blocks))


def _noise(statement: Statement) -> Section:
    records = [run.training for run in runs_in(statement.certificate)]
    if not records or None in records:
        text = (
            "The certificate is of a run as it is described: it does not know which generator gave "
            "the noise, nor in which arithmetic it ran. The theorem is about real numbers and "
            "Gaussian noise that nobody can predict."
        )
        return Section("Noise and arithmetic", (Note(line(text)),))
    rows: list[tuple[str, str | Line]] = [
        (title[0].upper() + title[1:], clean(text))
        for title, text in dict.fromkeys(
            one for record in records if record is not None for one in record.lines()
        )
    ]
    return Section("Noise and arithmetic", (pairs(rows),))


def _others(ledger: LedgerFacts | None) -> Section:
    heading = "Other releases on the same data"
    if ledger is None:
        text = (
            "No ledger was given: this statement says nothing of other releases about the same "
            "people. If there are any, what they cost together is more than what is stated here."
        )
        return Section(heading, (Note(line(text)),))
    blocks: list[Block] = [
        pairs(
            [
                (
                    "Spent in all",
                    line("epsilon ", Bound(ledger.spent), f" at delta = {ledger.delta:g}"),
                ),
                ("Budget", f"epsilon {ledger.epsilon:g} at delta = {ledger.delta:g}"),
                ("Releases", f"{ledger.count}"),
                ("Head of the log", f"SHA-256 {clean(ledger.head)}"),
            ]
        )
    ]
    if not any(row.this for row in ledger.rows):
        text = "This release is not among the entries below: it has to be charged as well."
        blocks.append(Note(line(text), loud=True))
    rows = tuple(
        (
            line(f"{row.number}{' (this one)' if row.this else ''}"),
            line(clean(row.time)[:10]),
            line(clean(row.label) or "-"),
            line(clean(row.release) + (" (declared)" if row.source == "declared" else "")),
            line(f"{row.times}"),
            line(Bound(row.epsilon, "short")),
        )
        for row in ledger.rows
    )
    blocks.append(Grid(("Entry", "Day", "Label", "Release", "Times", "Epsilon alone"), rows))
    if ledger.count > len(ledger.rows):
        blocks.append(Note(line(f"Only the last {len(ledger.rows)} entries are listed.")))
    if ledger.adaptive:
        text = "Releases may have been chosen by earlier results: then the budget is the guarantee."
        blocks.append(Note(line(text)))
    return Section(heading, tuple(blocks))
