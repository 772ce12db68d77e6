"""The machine in general terms: what a reader needs to judge a figure, and no names."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor() -> str:
    """The model, as the system calls it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def described() -> str:
    import numpy
    import scipy

    cores = os.cpu_count() or 1
    return (
        f"{processor()} ({platform.machine()}), {cores} cores, {platform.system()}, "
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, one thread a side"
    )
