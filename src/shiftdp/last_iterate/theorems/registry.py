"""The theorems of the library, in the order in which they are tried, and the proofs they may have.

Nothing is listed here: a module of this package that has a tuple `THEOREMS` has its theorems in the
registry, by their `place`, and so has what holds because they do: group privacy, and deletion after
training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from operator import attrgetter
from pkgutil import walk_packages
from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import theorems
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.theorems.derived.people import group_privacy
from shiftdp.last_iterate.theorems.derived.unlearning import after_training
from shiftdp.last_iterate.theorems.forms import fits
from shiftdp.last_iterate.theorems.proofs import AnyProof
from shiftdp.last_iterate.theorems.theorem import Family, Theorem

_TRAINING = {NoisyGD, NoisyCGD, NoisySGD}


def _all_theorems() -> tuple[Theorem, ...]:
    """Those that modules list, then those that are derived from them."""
    modules = [each.name for each in walk_packages(theorems.__path__, f"{theorems.__name__}.")]
    parts = (getattr(import_module(name), "THEOREMS", ()) for name in modules if name != __name__)
    found: list[Theorem] = sorted((item for part in parts for item in part), key=_PLACE)
    single = [item for item in found if _is_on_training(item) and not item.needs_people]
    found = sorted([*found, *group_privacy(single)], key=_PLACE)
    return tuple(sorted([*found, *after_training(filter(_is_on_training, found))], key=_PLACE))


def _is_on_training(theorem: Theorem) -> bool:
    """Theorems on several releases say nothing of people with several records, nor of deletion."""
    return bool(_TRAINING.intersection(theorem.runs)) and not theorem.needs_releases


_PLACE = attrgetter("place")
THEOREMS = _all_theorems()


def theorem_of(name: str, own: Iterable[Theorem] = ()) -> Theorem:
    """The theorem of exactly this name; nothing is read off its form.

    >>> theorem_of("Theorem B1").family
    'ours'
    """
    for theorem in (*THEOREMS, *own):
        if theorem.name == name:
            return theorem
    raise InvalidInput(
        "bound",
        name,
        "is no theorem that is known here",
        "give the name as certify wrote it, or "
        "verify(theorems=[...]) with the theorem of that name if it is your own",
    )


def family_of(name: str) -> Family:
    """The family of the theorem of exactly this name; `user` if it is none of the library's.

    >>> family_of("Thm gd (composition)"), family_of("a theorem of mine")
    ('composition', 'user')
    """
    families: dict[str, Family] = {theorem.name: theorem.family for theorem in THEOREMS}
    return families.get(name, "user")


def proof_types(own: Iterable[Theorem] = ()) -> tuple[type[AnyProof], ...]:
    """The classes of proofs that certificates may carry, each once."""
    kinds = dict.fromkeys(theorem.proof_type for theorem in (*THEOREMS, *own))
    return tuple(kind for kind in kinds if kind is not None)


def proof_from_dict(data: Mapping[str, Any], own: Iterable[Theorem] = ()) -> AnyProof:
    """The proof that `to_dict` wrote. The schema has told the kinds apart by their fields."""
    return next(kind for kind in proof_types(own) if fits(data, kind.form)).from_dict(data)
