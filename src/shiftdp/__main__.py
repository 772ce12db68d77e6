"""`python -m shiftdp` is the command `shiftdp`."""

from shiftdp.ui.main import main

main()
