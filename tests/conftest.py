"""The hypothesis profiles of all tests: the same examples on every machine, however slow it is.

`make test` runs a few examples a property, `make test-all` (HYPOTHESIS_PROFILE=thorough) many.
"""

import os

from hypothesis import HealthCheck, settings

PATIENT = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("shiftdp", PATIENT, max_examples=25)
settings.register_profile("thorough", PATIENT, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shiftdp"))
