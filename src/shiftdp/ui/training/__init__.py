"""What `shiftdp train` is made of: its options, the model, the table, the run, the answer."""
