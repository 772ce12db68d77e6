"""Tables in files, CSV, Parquet, npz and svmlight: how each is read, and the labels in them."""
