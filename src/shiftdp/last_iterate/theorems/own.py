"""What is asked of a user's theorems, and of what they give, before anything rests on them.

None may pass for a theorem of the library, and what is written by one can be read back. Whether it
is true is its author's to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from shiftdp._errors import InvalidInput
from shiftdp._strict_json import mismatch, parse
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.assumptions import trusted_theorem
from shiftdp.last_iterate.theorems.forms import TEXT, WORD, Schema
from shiftdp.last_iterate.theorems.proofs import AnyProof, Proofs
from shiftdp.last_iterate.theorems.theorem import Bound, Theorem


def own_theorems(theorems: Iterable[Theorem]) -> tuple[Theorem, ...]:
    """The user's theorems, each fit to be tried, written and read back beside all others."""
    from shiftdp.last_iterate.theorems.registry import THEOREMS, proof_types

    if isinstance(theorems, (str, Theorem)) or not isinstance(theorems, Iterable):
        raise InvalidInput(
            "theorems", theorems, "is not a list of theorems", "give theorems=[...], in brackets"
        )
    own = tuple(theorems)
    if not own:
        return own
    library = {theorem.name for theorem in THEOREMS}
    kinds, names = [*proof_types()], set[str]()
    for theorem in own:
        _require_theorem(theorem)
        if theorem.name in library or theorem.family != "user":
            raise InvalidInput(
                "theorems",
                theorem.name,
                "has the name or the family of a theorem of the library",
                'give it another name, and leave family="user"',
            )
        if theorem.name in names:
            raise InvalidInput(
                "theorems", theorem.name, "is there twice", "give each theorem once, by its name"
            )
        names.add(theorem.name)
        kind = theorem.proof_type
        if kind is not None and kind not in kinds:
            _require_proof_type(theorem, kind, kinds)
            kinds.append(kind)
    return own


def own_bound(theorem: Theorem, given: Any) -> Bound:
    """What a user's theorem gives, if it is a bound by that theorem; the library's as they are."""
    from shiftdp.last_iterate.theorems.registry import proof_types

    bound: Bound = given
    if theorem.family != "user":
        return bound
    if not isinstance(given, Bound):
        raise _no_bound(theorem, f"{type(given).__name__} where a Bound is needed")
    f: Any = given.f
    if not isinstance(f, TradeoffFunction):
        raise _no_bound(theorem, f"a Bound whose f is {type(f).__name__}")
    if bound.theorem is not theorem:
        other = getattr(bound.theorem, "name", bound.theorem)
        raise _no_bound(theorem, f"a bound in the name of {other!r}")
    kinds = proof_types([theorem])
    proofs: Any = given.proofs
    if not isinstance(proofs, tuple) or any(type(item) not in kinds for item in proofs):
        raise InvalidInput(
            "theorems",
            theorem.name,
            "gives proofs that no file could be read with",
            "give a tuple of objects of its proof_type, or of a proof of the library",
        )
    return bound


def require_written(name: str, proofs: Proofs, written: Sequence[Any], root: Schema) -> None:
    """Refuse what a user's proofs would write if it is not JSON, or not of the form they state.

    Args:
        name: of the theorem.
        proofs: those of the certificate.
        written: each of them as its `to_dict` gives it, without infinities.
        root: the schema of certificates, in which forms may refer to the library's proofs.
    """
    for proof, data in zip(proofs, written, strict=True):
        kind = type(proof)
        try:
            text = json.dumps(data, allow_nan=False)
        except (TypeError, ValueError) as error:
            problem: str | None = f"is no JSON ({error})"
        else:
            problem = mismatch(parse(text), kind.form, root)
        if problem is not None:
            raise InvalidInput(
                "proof",
                proof,
                f"of {name!r} cannot be written: {problem}",
                f"give what {kind.__name__}.form says: finite numbers, of Python's own types",
            )


def _no_bound(theorem: Theorem, gives: str) -> InvalidInput:
    remedy = "return Bound(self, f), or Bound(self, f, proofs), with a tradeoff function f"
    return InvalidInput("theorems", theorem.name, f"gives {gives}", remedy)


def _require_theorem(theorem: Any) -> None:
    """Refuse what is no theorem, or lacks what every theorem has to say of itself."""
    if isinstance(theorem, type) and issubclass(theorem, Theorem):
        made = f"give an object of it, {theorem.__name__}()"
        raise InvalidInput("theorems", theorem.__name__, "is a class, not a theorem", made)
    if not isinstance(theorem, Theorem):
        raise InvalidInput(
            "theorems", theorem, "is not a Theorem", "give objects of subclasses of it"
        )
    longest = WORD["maxLength"]
    name, citation = getattr(theorem, "name", None), getattr(theorem, "citation", None)
    if not _is_line(name) or len(name) > longest:
        remedy = f"give it a name of one line, of 1 to {longest} characters"
        raise InvalidInput("name", name, f"names no theorem ({type(theorem).__name__})", remedy)
    longest = TEXT["maxLength"] - len(trusted_theorem(name, "").statement)
    if not _is_line(citation) or len(citation) > longest:
        remedy = f"say in one line, of 1 to {longest} characters, where it is proved"
        raise InvalidInput("citation", citation, f"of {name!r} is no citation", remedy)
    runs = getattr(theorem, "runs", None)
    if not isinstance(runs, tuple) or not all(isinstance(kind, type) for kind in runs):
        remedy = "give a tuple of the classes of runs that it is about, such as (NoisyGD,)"
        raise InvalidInput("runs", runs, f"of {name!r} is no tuple of classes", remedy)


def _is_line(text: Any) -> TypeGuard[str]:
    """Whether it is one line that can be printed, with something in it."""
    return isinstance(text, str) and text.isprintable() and bool(text.strip())


def _require_proof_type(theorem: Theorem, kind: Any, kinds: Iterable[type[AnyProof]]) -> None:
    """Refuse a class of proofs that is none, or that files could not tell from another."""
    if not isinstance(kind, type) or not issubclass(kind, AnyProof):
        raise InvalidInput(
            "proof_type",
            kind,
            f"of {theorem.name!r} is no class of proofs",
            "give a frozen dataclass that is a subclass of AnyProof, or None for a formula",
        )
    form = getattr(kind, "form", None)
    if not _is_form(form):
        raise InvalidInput(
            "proof_type",
            kind.__name__,
            f"of {theorem.name!r} has no form",
            "give it form = forms.fields_of({...}), with what is in each field",
        )
    for other in kinds:
        if _alike(kind.form, other.form):
            raise InvalidInput(
                "proof_type",
                kind.__name__,
                f"of {theorem.name!r} has the fields of {other.__name__}, by which files are read",
                "rename a field of it, in the class and in its form",
            )


def _is_form(form: Any) -> bool:
    """Whether it is what `fields_of` makes: an object with these fields and no others."""
    if not isinstance(form, dict) or form.get("additionalProperties") is not False:
        return False
    fields, needed = form.get("properties"), form.get("required")
    return (
        form.get("type") == "object"
        and isinstance(fields, dict)
        and all(isinstance(each, dict) for each in fields.values())
        and isinstance(needed, list)
        and {*needed} <= {*fields}
    )


def _alike(one: Schema, other: Schema) -> bool:
    """Whether some object has the fields of both."""
    return {*one["required"]} <= {*other["properties"]} and (
        {*other["required"]} <= {*one["properties"]}
    )
