"""The processes of the proofs themselves, simulated: for figures, and to test the theory."""
