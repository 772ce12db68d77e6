"""Private linear models for scikit-learn.

| what | where |
| --- | --- |
| the three models, their signatures and losses | `linear` |
| their parameters, as `help` lists them | `parameters` |
| `plan`, and what all of them share | `base` |
| `fit`, checkpoints, averages | `fitting` |
| `partial_fit` | `streams` |
| `forget` | `forgetting` |
| `groups`: people with several records | `people` |
| `predict`, `score`, probabilities | `prediction`; classes and their labels: `classifier` |
| what is refused | `inputs` (data), `combinations` (options that no theorem covers together) |
| leaks around a fit that are warned of | `surroundings` |
| models in files | `shiftdp.training.model_file` |
"""

from shiftdp.training.descent.entropy import MissingPackage

try:
    from sklearn.utils.validation import validate_data  # noqa: F401  # new in 1.6
except ImportError as error:
    raise MissingPackage(
        "the estimators need scikit-learn 1.6 or newer: pip install 'shiftdp[sklearn]'"
    ) from error
