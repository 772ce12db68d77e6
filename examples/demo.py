"""What `make demo` shows: private models of handwritten digits, by every accountant.

The same as `shiftdp demo`. Writes `out/demo.png` and `out/demo.svg`.
"""

from __future__ import annotations

import sys

from shiftdp.ui.main import program


def main() -> None:
    program.main(["demo", *sys.argv[1:]], prog_name="shiftdp")


if __name__ == "__main__":
    main()
