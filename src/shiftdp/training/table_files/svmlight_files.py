"""svmlight: where indices begin and how many there are is given, never read off the data."""

from __future__ import annotations

from shiftdp._errors import InvalidInput
from shiftdp.training.table_files.parts import refused
from shiftdp.training.table_files.rules import Block, Head, Rules


def _known_features(rules: Rules) -> int:
    if rules.features is None:
        raise InvalidInput(
            "features", None, "is missing: this format does not say it", "give their number"
        )
    return rules.features


def svmlight_head(path: str, rules: Rules) -> Head:
    features = _known_features(rules)
    return Head(_svmlight_lines(path), features)


def _svmlight_lines(path: str) -> int:
    """How many lines there are, each a record: one without a label would vanish."""
    n = 0
    with open(path, "rb") as file:
        for n, line in enumerate(file, 1):  # noqa: B007
            if not line.partition(b"#")[0].strip():
                raise refused(
                    path, "has a line without a label", "take blank lines and comments out"
                )
    return n


def svmlight_block(path: str, rules: Rules) -> Block:
    from sklearn.datasets import load_svmlight_file

    features = _known_features(rules)
    _svmlight_lines(path)
    try:
        X, y = load_svmlight_file(path, n_features=features, zero_based=rules.first_index == 0)
    except (ValueError, OverflowError):
        X = None
    if X is None:  # outside of the handler: what it says quotes the line
        last = rules.first_index + features - 1
        raise refused(
            path,
            f"has a line that is not a label and pairs of an index from {rules.first_index} to "
            f"{last}, in rising order, and a number",
            "mend it, or give first_index=0 where indices begin at 0",
        )
    return Block(X, y)
