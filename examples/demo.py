"""What a private training run on MNIST really costs, by every accountant, and a figure of it.

The run is the one of the paper: regularised logistic regression, batches of 1,500 in turn, only the
final model released. Writes `out/demo.png` and `out/demo.svg`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import shiftdp as sdp

DELTA = 1e-5
GEOMETRY = sdp.Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)


def mnist(epochs: int, order: str = "fixed") -> sdp.NoisyCGD:
    return sdp.NoisyCGD(
        n=60_000, batch_size=1_500, epochs=epochs, learning_rate=0.05, noise=0.01, order=order
    )


def figure(path: Path) -> None:
    """Epsilon against epochs, one line an accountant."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "shiftdp"  # the same picture is the same file
    from matplotlib import pyplot as plt

    epochs = [2, 5, 10, 20, 35, 50, 75, 100, 150, 200]
    fixed = [sdp.compare(mnist(e), GEOMETRY, DELTA) for e in epochs]
    shuffled = [sdp.certify(mnist(e, "shuffled_once"), GEOMETRY).epsilon(DELTA) for e in epochs]
    lines = {
        "every iterate released (composition)": [t["composition"].epsilon for t in fixed],
        "last iterate, prior Rényi bound": [t["prior Renyi"].epsilon for t in fixed],
        "last iterate, fixed order (Theorem B1, exact)": [t["best"].epsilon for t in fixed],
        "last iterate, shuffled once (Theorem B4)": shuffled,
    }
    styles = ["-", "--", "-", "-"]
    colours = ["#999999", "#cc7a29", "#1f5fa8", "#2a8c57"]
    fig, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for (label, values), style, colour in zip(lines.items(), styles, colours, strict=True):
        axes.plot(epochs, values, style, color=colour, label=label, linewidth=2)
    axes.set(xlabel="epochs", ylabel=f"ε at δ = {DELTA:g}", xlim=(0, 200), ylim=(0, 32))
    axes.set_title("The same training run, charged four ways", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper right", bbox_to_anchor=(1, 0.93))
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path.with_suffix(".png"), dpi=160)
    fig.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(fig)


def main() -> None:
    for order in ("fixed", "shuffled_once"):
        print(f"\nMNIST, 50 epochs, batches of 1,500, order {order}:\n")
        print(sdp.compare(mnist(50, order), GEOMETRY, DELTA))
    certificate = sdp.certify(mnist(50, "shuffled_once"), GEOMETRY)
    certificate.verify()
    print("\nThe certificate, checked step by step:\n")
    print(certificate.statement(DELTA))
    out = Path("out/demo.svg")
    figure(out)
    print(f"\nFigure written to {out.with_suffix('.png')} and {out}.")


if __name__ == "__main__":
    main()
