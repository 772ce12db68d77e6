"""Tasks of PLD_accounting. Run by ../serve.py in its environment."""

from PLD_accounting import gaussian_allocation_epsilon_range


def allocation_epsilon(sigma, steps, epochs, delta, accuracy):
    """Of all iterates, when each record takes part in one of `steps` steps an epoch: an upper
    bound, and a lower one."""
    high, low = gaussian_allocation_epsilon_range(
        delta=delta, sigma=sigma, num_steps=steps, num_epochs=epochs, epsilon_accuracy=accuracy
    )
    return {"epsilon": float(high), "least": float(low), "sigma": sigma, "steps": steps,
            "epochs": epochs, "delta": delta}  # fmt: skip
