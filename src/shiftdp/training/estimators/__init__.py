"""Private linear models for scikit-learn."""
