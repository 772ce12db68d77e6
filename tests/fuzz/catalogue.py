"""Every target: what is tried, how much time and memory one input may take, and how long it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz import (
    audits,
    certificates,
    command_line,
    functions,
    ledger_writing,
    preparation,
    questions,
    runs,
    stores,
    tables,
    texts,
    training,
)

Try = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """Something that bytes are given to.

    Args:
        attempt: raises for a finding, and nothing else but our own errors.
        size: how many bytes decide an input, or the longest file.
        seconds: of processor time that one input may take.
        megabytes: of address space that one input may add.
        share: of a campaign's time, beside the others.
        seeds: valid files, where the bytes are a file themselves.
    """

    attempt: Try
    size: int
    seconds: float = 10.0
    megabytes: float = 512.0
    share: float = 1.0
    seeds: Callable[[], tuple[bytes, ...]] | None = None


def _searching(attempt: Try, size: int, share: float = 1.0) -> Target:
    """Where products are composed: arrays of up to 2^23 atoms (`fdp.composition.grid`), dozens."""
    return Target(attempt, size, seconds=60.0, megabytes=2_048.0, share=share)


TARGETS: dict[str, Target] = {
    # public functions: the bytes decide about parameters
    "functions": _searching(functions.try_function, 400, share=3.0),
    "compositions": _searching(functions.try_composition, 200),
    "conversions": Target(functions.try_conversion, 120, 30.0, 2_048.0),
    "descriptions": Target(runs.try_description, 400),
    "certificates": _searching(certificates.try_certificate, 500, share=4.0),
    "sampled": _searching(certificates.try_sampled_certificate, 500, share=2.0),
    "calibrations": _searching(questions.try_calibration, 500, share=2.0),
    "sampled_calibrations": _searching(questions.try_sampled_calibration, 300, share=2.0),
    "schedules": _searching(questions.try_schedule, 500, share=2.0),
    "unlearning": _searching(questions.try_unlearning, 500, share=2.0),
    "comparisons": _searching(questions.try_comparison, 500),
    "frontiers": _searching(questions.try_frontier, 500),
    "risks": _searching(questions.try_risk, 500),
    # training, with what it charges; where there are data frames, Arrow reserves a gigabyte
    "descents": Target(training.try_descent, 200, 60.0, 4_096.0, share=2.0),
    "planning": Target(training.try_planning, 120, 60.0, 1_024.0),
    "estimators": Target(training.try_estimator, 160, 60.0, 4_096.0, share=2.0),
    "preparation": Target(preparation.try_preparation, 160, 60.0, 4_096.0),
    "ledger_writing": Target(ledger_writing.try_ledger_writing, 200, 60.0, 1_024.0, share=2.0),
    "heads": Target(audits.try_head, 120, 60.0, 1_024.0),
    "audits": Target(audits.try_audit, 120, 60.0, 1_024.0),
    # the program
    "commands": _searching(command_line.try_command, 240, share=3.0),
    # readers: the bytes decide how a valid file is damaged, or forged
    "certificate_texts": Target(texts.try_certificate_text, 96, 60.0),
    "certificate_edits": Target(texts.try_certificate_edit, 96, 60.0, share=2.0),
    "json_texts": Target(texts.try_json, 96),
    "tradeoff_edits": Target(texts.try_tradeoff_text, 96, 30.0),
    "exports": Target(texts.try_export, 96, 30.0),
    "schemas": Target(texts.try_schema, 96),
    "options": Target(texts.try_options, 96),
    "pages": Target(texts.try_page, 96, 60.0),
    "csv": Target(tables.try_csv, 96),
    # address space, of which the allocator of Arrow reserves a gigabyte at a time
    "parquet": Target(tables.try_parquet, 96, 10.0, 4_096.0),
    "npz": Target(tables.try_npz, 96),
    "svmlight": Target(tables.try_svmlight, 96),
    "idx": Target(tables.try_idx, 96),
    "models": Target(stores.try_model, 96, 30.0),
    "forged_models": Target(stores.try_forged_model, 96, 30.0),
    "ledgers": _searching(stores.try_ledger, 96),
}
"""By name. An input of these is short: it says what to do."""

FILES: dict[str, Target] = {
    f"file_{name}": Target(read, 4_096, 60.0, 4_096.0, 0.5, seeds)
    for name, (read, seeds) in {**texts.RAW, **tables.RAW, **stores.RAW}.items()
}
"""By name. An input of these is a whole file: for a fuzzer that follows branches."""

EVERY: dict[str, Target] = {**TARGETS, **FILES}
