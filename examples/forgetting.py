"""How fast is a deleted record forgotten? Epsilon against further epochs, for three ridges.

python examples/forgetting.py forgetting.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import shiftdp as sdp
from shiftdp.ui.plots.style import LINES, OTHER_LINES, loaded, new_figure, tidy, write

DELTA = 1e-5
EPOCHS = (0, 1, 2, 5, 10, 20, 40, 70, 100)


def main(path: Path) -> None:
    training = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    looks = dict(zip((0.002, 0.02, 0.1), (LINES["best"], *OTHER_LINES), strict=False))
    with loaded():
        figure, (axes,) = new_figure()
        for ridge, line in looks.items():
            geometry = sdp.Geometry(
                strong_convexity=ridge, smoothness=32.5 + ridge, sensitivity=10.0
            )
            runs = [sdp.Unlearning(training=training, further_epochs=k) for k in EPOCHS[1:]]
            left = [sdp.certify(run, geometry).epsilon(DELTA) for run in (training, *runs)]
            print(f"ridge {ridge:g}: {left[0]:.3g} after training, {left[-1]:.3g} after 100 epochs")
            axes.plot(EPOCHS, left, label=f"ridge {ridge:g}", **line.look)
        axes.set(xlabel="further epochs without the record", ylabel=r"$\varepsilon$ that is left")
        axes.set_ylim(bottom=0)
        axes.legend()
        tidy(axes, r"50 epochs of training, $\delta = 10^{-5}$")
    write(figure, path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
