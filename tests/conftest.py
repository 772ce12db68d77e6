"""The hypothesis profile of all tests: the same examples on every machine, however slow it is."""

from hypothesis import settings

settings.register_profile("shiftdp", derandomize=True, deadline=None)
settings.load_profile("shiftdp")
