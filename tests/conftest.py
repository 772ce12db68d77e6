"""The hypothesis profiles of all tests: the same examples on every machine, however slow it is.

`make test` runs a few examples a property, `make test-all` (HYPOTHESIS_PROFILE=thorough) many.
"""

import os

from hypothesis import settings

settings.register_profile("shiftdp", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shiftdp"))
