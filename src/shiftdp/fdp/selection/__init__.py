"""What it costs to run a private mechanism a random number of times and release the best."""
