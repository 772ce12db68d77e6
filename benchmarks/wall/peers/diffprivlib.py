"""Tasks of diffprivlib. Run by ../serve.py in its environment."""

import warnings

import numpy as np
from diffprivlib.models import LogisticRegression


def accuracies(path, epsilon, strengths, norm_bound, seeds):
    """Per cent right for each strength of the ridge and seed, on splits that a file holds.

    The file has, for each seed s: X_s, y_s, test_s, labels_s, with features held to the bound and
    the constant joined.
    """
    found = []
    with np.load(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for strength in strengths:
            row = []
            for seed in seeds:
                X, y = file[f"X_{seed}"], file[f"y_{seed}"]
                model = LogisticRegression(
                    epsilon=epsilon, data_norm=norm_bound * (1.0 + 1e-6),
                    C=1.0 / (strength * norm_bound**2 * len(X)), max_iter=300, random_state=seed,
                    fit_intercept=False,
                )  # fmt: skip
                model.fit(X, y)
                right = model.predict(file[f"test_{seed}"]) == file[f"labels_{seed}"]
                row.append(100.0 * float(np.mean(right)))
            found.append(row)
    return found
