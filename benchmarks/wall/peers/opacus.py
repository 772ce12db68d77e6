"""Tasks of Opacus. Run by ../serve.py in its environment."""

import warnings

import numpy as np

warnings.simplefilter("ignore")


def calibrate(rate, steps, epsilon, delta):
    """The noise multiplier by the PRV accountant, at its defaults."""
    from opacus.accountants.utils import get_noise_multiplier

    found = get_noise_multiplier(
        target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant="prv"
    )
    return float(found)


def poisson_epsilon(sigma, rate, steps, delta, eps_error=0.01):
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(sigma, rate, steps)]
    return float(accountant.get_epsilon(delta, eps_error=eps_error))


_STATE = {}


def _images(n, d, seed):
    """The images of benchmarks/training_step.py."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    X *= rng.random(X.shape, dtype=np.float32) < 0.19
    return X, rng.integers(0, 10, len(X))


def training_steps(way, n, d, batch, steps, classes, rate, noise, clip, l2):
    """So many steps of DP-SGD on a linear model, by hooks or by ghost clipping.

    The answer is what was run, and the first entries of the gradient that the last step used would
    differ by noise: so it is the sizes that are compared.
    """
    import torch
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    torch.set_num_threads(1)
    key = (way, n, d, batch)
    if key not in _STATE:
        X, y = _images(n, d, 0)
        features, labels = torch.from_numpy(X), torch.from_numpy(y)
        entropy = torch.nn.CrossEntropyLoss()
        given = {
            "noise_multiplier": noise * batch / clip,
            "max_grad_norm": clip,
            "expected_batch_size": batch,
        }
        linear = torch.nn.Linear(d, classes)
        if way == "hooks":
            model = GradSampleModule(linear)
            wrapper = DPOptimizer
        else:
            model = GradSampleModuleFastGradientClipping(
                linear, max_grad_norm=clip, use_ghost_clipping=True
            )
            wrapper = DPOptimizerFastGradientClipping
        sgd = torch.optim.SGD(model.parameters(), lr=rate, weight_decay=l2)
        optimizer = wrapper(sgd, **given)
        criterion = (
            entropy if way == "hooks" else DPLossFastGradientClipping(model, optimizer, entropy)
        )
        _STATE[key] = features, labels, model, optimizer, criterion
    features, labels, model, optimizer, criterion = _STATE[key]
    for i in range(steps):
        part = slice(i * batch, i * batch + batch)
        optimizer.zero_grad()
        criterion(model(features[part]), labels[part]).backward()
        optimizer.step()
    weights = next(iter(model.parameters()))
    return {"batch": batch, "features": d, "classes": classes, "finite": bool(
        torch.isfinite(weights).all())}  # fmt: skip
