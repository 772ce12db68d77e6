"""Attacks on the guarantees that the library prints: exact instances, many runs, one run."""





