"""The theorems of the library, in the order in which they are tried.

To add one: write it (a subclass of `Theorem`), list it here, state it in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.runs import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.last_iterate.theorems.closed_forms import DESCENT_PAPER
from shiftdp.last_iterate.theorems.derived.people import (
    arranged_people,
    group_privacy,
    people_together,
)
from shiftdp.last_iterate.theorems.derived.sampled_people import SAMPLED_PEOPLE
from shiftdp.last_iterate.theorems.derived.unlearning import DELETION, after_training
from shiftdp.last_iterate.theorems.descent import DESCENT_COMPOSITION, DESCENT_SHIFTED
from shiftdp.last_iterate.theorems.hidden import HIDDEN
from shiftdp.last_iterate.theorems.langevin import PURE_DP, SAMPLER_PAPER, SAMPLER_TOGETHER
from shiftdp.last_iterate.theorems.prefix import PREFIX
from shiftdp.last_iterate.theorems.released.joint import JOINT
from shiftdp.last_iterate.theorems.released.segments import SEGMENTS
from shiftdp.last_iterate.theorems.released.streams import STREAMS
from shiftdp.last_iterate.theorems.sampled.composition import SAMPLED_COMPOSITION
from shiftdp.last_iterate.theorems.sampled.paper import SGD_PROJ, SGD_SC
from shiftdp.last_iterate.theorems.sampled.shifted import SAMPLED_SHIFTED
from shiftdp.last_iterate.theorems.theorem import Family, Theorem

_OF_ONE_RECORD: tuple[Theorem, ...] = (
    *DESCENT_COMPOSITION,
    *SAMPLED_COMPOSITION,
    PURE_DP,
    *DESCENT_PAPER,
    SGD_SC,
    SGD_PROJ,
    *SAMPLED_SHIFTED,
    *HIDDEN,
    *PREFIX,
    *DESCENT_SHIFTED,
    *JOINT,
    *SEGMENTS,
    *STREAMS,
    *SAMPLER_PAPER,
    *SAMPLER_TOGETHER,
)


_TRAINING = {NoisyGD, NoisyCGD, NoisySGD}

# theorems on several releases say nothing of people with several records, nor of deletion
_ON_RELEASES = {*JOINT, *SEGMENTS, *STREAMS}
_ON_TRAINING = [
    item
    for item in _OF_ONE_RECORD
    if _TRAINING.intersection(item.runs) and item not in _ON_RELEASES
]

_OF_PEOPLE: tuple[Theorem, ...] = (
    *people_together((*DESCENT_COMPOSITION, *DESCENT_PAPER, DESCENT_SHIFTED[0])),
    *group_privacy(_ON_TRAINING),
    *SAMPLED_PEOPLE,
    *arranged_people(),
)

THEOREMS: tuple[Theorem, ...] = (
    *_OF_ONE_RECORD,
    *_OF_PEOPLE,
    *DELETION,
    *after_training((*_ON_TRAINING, *_OF_PEOPLE)),
)


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
