"""Valid files, damaged and edited: bytes that are moved, and values that are replaced."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from tests.fuzz.choices import Choices

_TOKENS = (
    b"\0", b"\xff", b"\xff\xff\xff\xff", b"\n", b"\r", b'"', b",", b"NaN", b"Infinity", b"1e999",
    b"-1", b"0", b"9" * 30, b"null", b"{", b"[" * 300, b"<", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"'",
    b"1e-400", b":", b"#", b"\x80", b"=", b"[[", b"true",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, -0.0, 5e-324, 1e308, -1e308, 2**53, 2**53 + 1, 2**64, 10**19,
    "", "inf", "-inf", "nan", "x", "\ud800", "\u202e", "x" * 300, [], {}, [[]], [None], {"": None},
    {"type": "gaussian", "mu": 1.0}, [0.0, 0.0], "gaussian", "NoisyGD", "replace_one", "zero_out",
)  # fmt: skip


def damaged(choices: Choices, seeds: Sequence[bytes]) -> bytes:
    """One of the files with one edit or a few: bits, cuts, repeats, tokens, a part of another."""
    found = bytearray(choices.pick(seeds))
    for _ in range(choices.pick((1, 1, 1, 2, 2, 3, 6))):
        size = max(1, len(found))
        start = choices.below(size)
        length = choices.pick((1, 1, 2, 4, 8, 40))
        match choices.below(8):
            case 0 if found:
                found[start % len(found)] ^= 1 << choices.below(8)
            case 1:
                del found[start : start + length]
            case 2:
                found[start:start] = choices.bytes(length)
            case 3:
                found[start : start + length] = choices.bytes(length)
            case 4:
                found[start:start] = found[start : start + length] * choices.pick((1, 2, 50))
            case 5:
                other = choices.pick(seeds)
                place = choices.below(max(1, len(other)))
                found[start : start + length] = other[place : place + length]
            case 6 if choices.chance(4):
                del found[start:]
            case _:
                token = choices.pick(_TOKENS)
                found[start : start + choices.pick((0, len(token)))] = token
    return bytes(found)


def edited(choices: Choices, document: Any) -> Any:
    """A JSON document with one value, or a few, removed, doubled, renamed or replaced."""
    found = copy.deepcopy(document)
    for _ in range(choices.pick((1, 1, 1, 2, 3))):
        parent, key = _place(choices, found)
        if parent is None:
            return copy.deepcopy(choices.pick(_VALUES))
        _edit(choices, parent, key)
    return found


def _place(choices: Choices, document: Any) -> tuple[Any, Any]:
    """A place below, with what holds it; deeper ones are as likely."""
    parent, key, here = None, None, document
    while isinstance(here, (dict, list)) and here:
        keys = [*here] if isinstance(here, dict) else range(len(here))
        parent, key = here, keys[choices.below(len(keys))]
        here = here[key]
        if choices.chance(5):
            break
    return parent, key


def _edit(choices: Choices, parent: Any, key: Any) -> None:
    value = parent[key]
    match choices.below(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[choices.pick(("another", "", "type", "mu"))] = parent.pop(key)
        case 1:
            parent.insert(key, copy.deepcopy(value))
        case 2 | 3 if isinstance(value, (int, float)) and not isinstance(value, bool):
            factor = choices.pick((0.0, -1.0, 0.5, 2.0, 1.0 + 1e-9, 1.0 - 1e-9, 1e9, 1e-9))
            changed = value * factor
            parent[key] = round(changed) if isinstance(value, int) else changed
        case 4 if isinstance(value, list) and value:
            parent[key] = choices.pick((value[::-1], value[1:], value[:-1], value * 2, value[:1]))
        case _:
            parent[key] = copy.deepcopy(choices.pick(_VALUES))


def text_of(document: Any) -> str:
    """As JSON; floats that are none become words that no reader should take for numbers."""
    return json.dumps(document)
