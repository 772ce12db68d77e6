"""Who is worst off? The cost to a record by its place in a fixed order, and in a random one.

python examples/position_in_epoch.py position.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import shiftdp as sdp
from shiftdp.ui.plots.style import LINES, OTHER_LINES, loaded, new_figure, tidy, write

DELTA = 1e-5


def main(path: Path) -> None:
    geometry = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    shape = {"n": 60_000, "batch_size": 1_500, "epochs": 50, "learning_rate": 0.05, "noise": 0.01}
    places = sdp.certify(sdp.NoisyCGD(**shape), geometry).by_position()  # type: ignore[arg-type]
    by_place = {place: sdp.GaussianTradeoff(mu).epsilon(DELTA) for place, mu in places.items()}
    shuffled = sdp.certify(sdp.NoisyCGD(**shape, order="reshuffled"), geometry).epsilon(DELTA)  # type: ignore[arg-type]
    print(f"first batch {by_place[1]:.3f}, last batch {by_place[40]:.3f}, shuffled {shuffled:.3f}")
    with loaded():
        figure, (axes,) = new_figure()
        axes.plot(*zip(*by_place.items(), strict=True), label="fixed order", **LINES["best"].look)
        axes.axhline(shuffled, label="shuffled each epoch", **OTHER_LINES[0].look)
        axes.set(xlabel="batch that the record is in", ylabel=r"$\varepsilon$", ylim=(0, None))
        axes.legend(loc="upper left")
        tidy(axes, r"60,000 records, 40 batches, 50 epochs, $\delta = 10^{-5}$")
    write(figure, path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
