"""Whether the optimizer alone moves the model.

A theorem on the last iterate is about steps of gradient descent, one after the other. Weights that
are normalised, averaged, restored or scaled between two steps are another process, which may drive
two runs apart. So the parameters are compared, before a step, with what the last step left.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from shiftdp._errors import UnmetHypothesis
from shiftdp.privacy.opacus.run import Declaration


class WatchedParameters:
    """Keeps what a step leaves, and refuses the next one if it finds anything else.

    Under a declared diameter they are projected between steps, by the user; composition asks
    nothing of what happens there.

    Args:
        optimizer: the DPOptimizer.
        declaration: what is assumed of the run.
        before: what watched the same run until now, if anything did.
    """

    def __init__(
        self, optimizer: Any, declaration: Declaration, before: WatchedParameters | None = None
    ) -> None:
        self._optimizer = optimizer
        self._left: list[torch.Tensor] | None = None if before is None else before._left
        self._stepping = False  # a step was looked at, and is about to be made
        self._handle: Any = None
        if not declaration.composed_only and math.isinf(declaration.diameter):
            inner = optimizer.original_optimizer
            self._handle = inner.register_step_post_hook(self._keep)

    def _keep(self, *_: Any) -> None:
        """Called after each step of the optimizer: keep a copy of the parameters it leaves.

        Not after a step that `refuse_moved` was not called for: the next call refuses what it did.
        """
        if self._stepping:
            self._left = [p.detach().clone() for p in self._optimizer.params]
        self._stepping = False

    def remove(self) -> None:
        """Watch no longer."""
        if self._handle is not None:
            self._handle.remove()

    def refuse_moved(self) -> None:
        """Called before a step: refuse it if the parameters have changed since the last one.

        If not, the parameters are kept again when the step has been made.
        """
        now, left = self._optimizer.params, self._left
        if left is not None and not (len(now) == len(left) and all(map(_same, now, left))):
            raise UnmetHypothesis(
                "parameters",
                f"<{len(now)} tensors>",
                "are not as the last step left them, and theorems are about steps that follow each "
                "other",
                "let the optimizer alone change them between steps; to project them onto a ball, "
                'declare its diameter; or bounds="composition"',
            )
        self._stepping = True


def _same(now: torch.Tensor, left: torch.Tensor) -> bool:
    """Whether all entries are equal; the tensors may be on different devices."""
    return now.shape == left.shape and torch.equal(now.detach().to(left), left)
