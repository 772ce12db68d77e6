"""What can an attacker do? The tradeoff between the two errors, and the privacy profile.

python examples/certificate.py certificate.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import shiftdp as sdp
from shiftdp.ui.plots import certificate_figure, write


def main(path: Path) -> None:
    geometry = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    run = sdp.NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01)
    cert = sdp.certify(run, geometry)
    for fpr in (0.001, 0.01, 0.1):
        print(f"at {fpr:.1%} false alarms, at most {cert.tpr(fpr=fpr):.2%} hits")
    write(certificate_figure(cert, delta=1e-5), path, outlines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
