"""What does one more epoch cost? Every accountant, from one epoch to a run without end.

python examples/epsilon_by_epochs.py epochs.svg
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import shiftdp as sdp
from shiftdp.ui.plots import frontier_figure, write


def main(path: Path) -> None:
    geometry = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    run = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    epochs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, math.inf]
    swept = sdp.frontier(run, geometry, parameter="epochs", values=epochs, delta=1e-5)
    print(swept)
    write(frontier_figure(swept), path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
