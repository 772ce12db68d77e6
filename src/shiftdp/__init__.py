"""shiftdp: what the last iterate of noisy gradient descent really costs in privacy.

The public names are those of `shiftdp._public`. They are loaded when the first of them is used, so
that `import shiftdp` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from shiftdp._version import VERSION

__version__ = VERSION

_ROOMS = ("fdp", "interpolation", "last_iterate", "privacy", "training", "trials")

if TYPE_CHECKING:  # checkers follow the import, and know a wrong name
    from shiftdp._public import *  # noqa: F403

    __all__: list[str]
else:

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f"shiftdp.{name}")
        public = {**_surface(), "__all__": sorted(_surface())}
        if name not in public:
            raise AttributeError(f"module 'shiftdp' has no attribute {name!r}")
        globals()[name] = public[name]
        return public[name]


def _surface() -> dict[str, object]:
    """The public names with what they stand for."""
    module = import_module("shiftdp._public")
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def __dir__() -> list[str]:
    return sorted({"__all__", "__doc__", "__version__", *_surface(), *_ROOMS})
