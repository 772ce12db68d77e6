"""`python reproduce ...` from a checkout: the same as `shiftdp reproduce ...`."""

from __future__ import annotations

import sys

from shiftdp.ui.main import program

if __name__ == "__main__":
    program.main(["reproduce", *sys.argv[1:]], prog_name="shiftdp")
