"""What do many records of one person cost? Anywhere, and at most one in a batch.

python examples/people.py people.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import shiftdp as sdp
from shiftdp.ui.plots.style import LINES, loaded, new_figure, tidy, write

RECORDS = (1, 2, 3, 5, 7, 10)


def main(path: Path) -> None:
    geometry = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    shape = {"n": 60_000, "batch_size": 1_500, "epochs": 50, "learning_rate": 0.05, "noise": 0.01}
    ways = {"anywhere": LINES["composition"], "one_per_batch": LINES["best"]}
    with loaded():
        figure, (axes,) = new_figure()
        for way, line in ways.items():
            runs = [
                sdp.NoisyCGD(**shape, records_per_person=k, arrangement=way)  # type: ignore[arg-type]
                for k in RECORDS
            ]
            mu = [sdp.certify(run, geometry).mu or 0.0 for run in runs]
            print(f"{way}: mu {mu[0]:.4f} for one record, {mu[-1]:.4f} for ten")
            label = way.replace("_", " ")
            axes.plot(RECORDS, mu, label=label, marker=line.marker, markersize=4, **line.look)
        axes.set(xlabel="records of one person", ylabel=r"$\mu$ for the person", ylim=(0, None))
        axes.legend(title="where the records are")
        tidy(axes, "60,000 records, 40 batches, 50 epochs")
    write(figure, path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
