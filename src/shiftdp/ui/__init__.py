"""The command line and the plots. Nothing else in shiftdp imports this room."""
