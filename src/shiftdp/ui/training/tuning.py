"""`shiftdp train --tune`: a private search around what the options describe, under one budget.

The candidates are public. Without a schema they are bounds on rows, from --feature-bound down to a
thirtieth of it: what is most often declared too large. With a schema, which bounds the rows itself,
they are clips, from the planner's own down to a tenth of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shiftdp.ui.output import print_json, print_text
from shiftdp.ui.progress import waiting
from shiftdp.ui.refusals import Refused
from shiftdp.ui.report import release_document

if TYPE_CHECKING:
    from shiftdp.training.planning.planner import Planned

TRIALS = 4
"""How many trials there are on average: what docs/selection.md measures."""
_BOUNDS = (1.0, 1.0 / 3.0, 0.1, 1.0 / 30.0)  # as parts of --feature-bound
_CLIPS = (1.0 / 3.0, 0.1)  # as parts of what the planner takes, which is a candidate too


def refuse_with_tuning(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse options that a search has no use for."""
    if not options["tune"]:
        return
    if options["dry_run"]:
        raise Refused("--dry-run: a search is planned when it has its table; leave it out", ctx)
    if options["schema"] is not None and options["clip"] is not None:
        raise Refused("--clip: is what --tune chooses with --schema; leave one of them out", ctx)
    if options["model"] == "huber" and options["score_range"] is None:
        raise Refused(
            "--tune: scores of huber need a public range of the target; give --score-range", ctx
        )


def search_of_numbers(estimator: Any, options: dict[str, Any]) -> Any:
    """The search over bounds on rows, down from the one that is given."""
    bounds = [part * options["feature_bound"] for part in _BOUNDS]
    return _search(estimator, {"feature_bound": bounds}, options)


def search_of_pipeline(pipeline: Any, planned: Planned, options: dict[str, Any]) -> Any:
    """The search over clips, down from the planner's.

    Args:
        pipeline: encoder and model.
        planned: what would run without a search.
        options: of the command.
    """
    plan = planned.plan
    most = plan.feature_bound if plan.clip is None else plan.clip
    clips = [None, *(part * most for part in _CLIPS)]
    return _search(pipeline, {f"{pipeline.steps[-1][0]}__clip": clips}, options)


def _search(estimator: Any, candidates: dict[str, list[Any]], options: dict[str, Any]) -> Any:
    from shiftdp.sklearn import PrivateSearchCV

    estimator.set_params(ledger=None)
    return PrivateSearchCV(
        estimator,
        candidates,
        options["epsilon"],
        options["delta"],
        n_iter=TRIALS,
        targets=options["score_range"],
        ledger=options["ledger"],
        random_state=options["random_state"],
    )


def print_search(
    search: Any, options: dict[str, Any], not_covered: list[str], score: Any, ending: str
) -> None:
    """The answer of `shiftdp train --tune`: what the search cost, and what it chose."""
    certificate, planned = search.certificate_, search.plan_
    with waiting("accounting"):
        document = release_document(certificate, options["delta"])
    if options["json"]:
        print_json(
            {
                **document,
                "private": certificate.private,
                "not_covered": not_covered,
                "candidates": list(search.candidates_),
                "chosen": search.best_params_,
                "score_of_chosen": search.best_score_,
                "plan": planned.choices(),
                "reasons": planned.reasons,
                "output": options["output"],
                **({} if score is None else score.document()),
            }
        )
        return
    print_text(f"The fit that was chosen, of {len(search.candidates_)} candidates:")
    for name, value in search.best_params_.items():
        shown = "as planned" if value is None else f"{value:.6g}"
        print_text(f"  {name.rpartition('__')[2]} {shown}")
    print_text(f"  noisy score {search.best_score_:.4f}, too good as the largest of several")
    print_text()
    print_text(str(planned))
    print_text()
    print_text(document["statement"])
    for leak in not_covered:
        print_text(f"not covered: {leak}")
    if score is not None:
        print_text(score.text())
    print_text(ending)
