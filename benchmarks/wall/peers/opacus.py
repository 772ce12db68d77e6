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


def _model(way, d, classes, batch, rate, noise, clip, l2):
    """A linear model that starts at zero, with its optimizer and loss."""
    import torch
    from opacus import GradSampleModule
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    torch.set_num_threads(1)
    linear, entropy = torch.nn.Linear(d, classes), torch.nn.CrossEntropyLoss()
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    given = {
        "noise_multiplier": noise * batch / clip,
        "max_grad_norm": clip,
        "expected_batch_size": batch,
    }
    if way == "hooks":
        model, wrapper = GradSampleModule(linear), DPOptimizer
    else:
        model = GradSampleModuleFastGradientClipping(
            linear, max_grad_norm=clip, use_ghost_clipping=True
        )
        wrapper = DPOptimizerFastGradientClipping
    sgd = torch.optim.SGD(model.parameters(), lr=rate, weight_decay=l2)
    optimizer = wrapper(sgd, **given)
    if way == "hooks":
        return model, optimizer, entropy
    return model, optimizer, DPLossFastGradientClipping(model, optimizer, entropy)


def _steps(parts, features, labels, batch, steps):
    model, optimizer, criterion = parts
    for i in range(steps):
        part = slice(i * batch, i * batch + batch)
        optimizer.zero_grad()
        criterion(model(features[part]), labels[part]).backward()
        optimizer.step()
    return next(iter(model.parameters()))


def training_steps(way, n, d, batch, steps, classes, rate, noise, clip, l2, every):
    """So many steps of DP-SGD on a linear model, by hooks or by ghost clipping.

    The answer has what a first step does without noise, every so many-th entry of its weights,
    which is found once and not timed again.
    """
    import torch

    key = (way, n, d, batch)
    if key not in _STATE:
        X, y = _images(n, d, 0)
        data = torch.from_numpy(X), torch.from_numpy(y)
        first = _steps(_model(way, d, classes, batch, rate, 0.0, clip, l2), *data, batch, 1)
        update = first.detach().numpy().ravel()[::every].tolist()
        _STATE[key] = data, _model(way, d, classes, batch, rate, noise, clip, l2), update
    data, parts, update = _STATE[key]
    weights = _steps(parts, *data, batch, steps)
    finite = bool(torch.isfinite(weights).all())
    return {"batch": batch, "features": d, "classes": classes, "finite": finite, "update": update}
