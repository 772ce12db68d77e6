"""What a statement says of a search and of a score, which are no single run.

The guarantee of a search is that of all its trials together. What one fit costs by itself is less,
and is stated only beside it, by that name.
"""

from __future__ import annotations

from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.kinds import AnyCertificate
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement.blocks import Bound, Grid, Line, clean, line


def runs_in(whole: AnyCertificate) -> tuple[Certificate, ...]:
    """The certificates of runs that it rests on; of a search those of all candidates."""
    if isinstance(whole, Certificate):
        return (whole,)
    if isinstance(whole, PipelineCertificate):
        return () if whole.model is None else (whole.model,)
    if isinstance(whole, ScoreCertificate):
        return ()
    return tuple(run for candidate in whole.candidates for run in runs_in(candidate))


def theorems_of(whole: AnyCertificate) -> str:
    """The theorems by which the cost of the whole is proved."""
    if isinstance(whole, Certificate):
        return clean(whole.bound)
    if isinstance(whole, ScoreCertificate):
        return "Theorems S1 and S4"
    if isinstance(whole, PipelineCertificate):
        return "Theorems S1 and S2" if whole.model is None else clean(whole.model.bound)
    bounds = dict.fromkeys(clean(run.bound) for run in runs_in(whole))
    return f"Theorems S3 to S5, on fits by {', '.join(bounds)}"


def what_was_done(whole: SelectionCertificate | ScoreCertificate) -> str:
    """The mechanism in a few sentences."""
    if isinstance(whole, ScoreCertificate):
        number = "One sum" if len(whole.sums) == 1 else f"{len(whole.sums)} sums"
        return f"{number} over {whole.n:,} records, of how good a released model is, with noise."
    where = (
        f"{whole.held_out:,} records that no trial is trained on"
        if whole.held_out
        else "the records that it is trained on"
    )
    return (
        f"A private search: {whole.trials}. Each trial draws one of {len(whole.candidates)} kinds "
        f"of fits at random, trains it, and scores it with noise on {where}. The trial with the "
        "best score is released."
    )


def what_is_published(whole: SelectionCertificate | ScoreCertificate) -> str:
    """What may be known of it."""
    if isinstance(whole, ScoreCertificate):
        return "The noisy sums, and whatever is computed from them."
    return (
        "The model of the best trial, its parameters and its noisy score. Neither the other trials "
        "nor how many there were."
    )


def rows_of(
    whole: SelectionCertificate | ScoreCertificate, delta: float
) -> list[tuple[str, str | Line]]:
    """What was done, what is released, and of a search what one trial costs."""
    rows: list[tuple[str, str | Line]] = [
        ("What was run", what_was_done(whole)),
        ("Released", what_is_published(whole)),
    ]
    if isinstance(whole, SelectionCertificate):
        rows.append(
            (
                "One trial by itself",
                line("epsilon ", Bound(whole.trial.epsilon(delta)), ", which is not the guarantee"),
            )
        )
    return rows


def candidates(whole: SelectionCertificate, delta: float) -> Grid:
    """What a trial may train, and what that would cost by itself."""
    rows = []
    for number, one in enumerate(whole.candidates, start=1):
        (run,) = runs_in(one)
        learnt = len(one.sums) if isinstance(one, PipelineCertificate) else 0
        prepared = f" After {learnt} noisy sums of the preparation." if learnt else ""
        rows.append(
            (
                line(f"{number}"),
                line(run.run.in_words + prepared),
                line(clean(run.bound)),
                line(Bound(one.epsilon(delta), "short")),
            )
        )
    columns = ("Candidate", "Fit", "Theorem", "Epsilon of one fit, not the guarantee")
    return Grid(columns, tuple(rows))


def sums_in(whole: AnyCertificate) -> tuple[NoisySum, ...]:
    """The noisy sums that it names itself: of preparation, or of scores."""
    if isinstance(whole, Certificate):
        return ()
    return (whole.score,) if isinstance(whole, SelectionCertificate) else whole.sums


def secrets_of(whole: AnyCertificate) -> list[str]:
    """What has to stay hidden beside what runs hide."""
    if not isinstance(whole, SelectionCertificate):
        return []
    return [
        "how many trials there were",
        "everything of the trials that were not chosen",
        "how long the search took",
    ]
