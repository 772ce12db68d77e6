"""Thousands of damaged and forged model files: our refusal, or the same model, and nothing else."""

import json
import os
import random
import subprocess
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import load_model, save_model
from shiftdp.training.model_file.archive import digest_of, pack, unpack
from tests.training.model_file.examples import Example, example

KINDS = ("logistic", "same plan", "softmax", "huber", "columns", "table")
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 2**80, "", "os.system", "../../x", "\ud800", "__class__", [], {},
    [[]], {"array": 0}, {"array": 10**9}, {"scalar": 0}, {"float": "nan"}, {"type": "object"},
    {"dict": [["a", 1]]}, {"tuple": []}, {"objects": [[1], [None]]}, {"range": [0, 10**12, 1]},
    {"sparse": ["csr_matrix", [1, 1], {"array": 0}, {"array": 1}, {"array": 2}]}, {"score": "chi2"},
    {"transformer": {"class": "Pipeline", "parameters": {"steps": []}, "attributes": {}}},
    {"class": "System"}, {"class": "Seeded", "seed": 1}, {"class": "Ball", "radius": 1.0},
)  # fmt: skip


@cache
def files() -> dict[str, tuple[Example, bytes]]:
    """A model of each kind with its file."""
    import tempfile

    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model"
        for kind in KINDS:
            one = example(kind)
            save_model(one.model, path)
            found[kind] = one, path.read_bytes()
    return found


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(*arguments: Any, **options: Any) -> Any:
        raise SystemExit("a file ran something")

    for name in ("system", "popen", "execv", "execve", "fork"):
        monkeypatch.setattr(os, name, ran)
    monkeypatch.setattr(subprocess, "Popen", ran)


def loaded(data: bytes, path: Path) -> Any:
    """The model in these bytes, or None where they are refused; no warning either way."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return load_model(path)
        except InvalidInput:
            return None


def sealed(members: dict[str, bytes]) -> bytes:
    """With the digest that goes with them."""
    others = {name: part for name, part in members.items() if name != "digest.txt"}
    return pack({**others, "digest.txt": f"{digest_of(others)}\n".encode()})


# --- damage: nobody makes the digest anew ---


def damaged(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    match rng.randrange(6):
        case 0:
            for _ in range(rng.choice((1, 1, 1, 2, 8))):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        case 1:
            del changed[rng.randrange(len(changed)) :]
        case 2:
            start = rng.randrange(len(changed))
            del changed[start : start + rng.randrange(1, 100)]
        case 3:
            start = rng.randrange(len(changed))
            changed[start:start] = rng.randbytes(rng.randrange(1, 100))
        case 4:
            start, other = (rng.randrange(len(changed)) for _ in range(2))
            changed[start : start + 50] = changed[other : other + 50]
        case _:
            start = rng.randrange(len(changed) - 4)
            changed[start : start + 4] = rng.choice((b"\xff" * 4, bytes(4), b"PK\3\4", b"PK\1\2"))
    return bytes(changed)


def check_damaged(count: int, seed: int, path: Path) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        _, data = files()[rng.choice(KINDS)]
        changed = damaged(rng, data)
        if changed != data:
            assert loaded(changed, path) is None


# --- forgery: with a digest that is made anew ---


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a JSON document are."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for key, item in enumerate(value[:30]):
            yield from places(item, (*path, key))


def edited(rng: random.Random, document: Any) -> Any:
    """One place of a document removed, repeated, renamed or replaced."""
    document = deepcopy(document)
    *way, last = rng.choice([place for place in places(document) if place])
    parent = document
    for key in way:
        parent = parent[key]
    match rng.randrange(4):
        case 0:
            del parent[last]
        case 1 if isinstance(parent, dict):
            parent["another"] = parent.pop(last)
        case 1:
            parent.insert(last, deepcopy(parent[last]))
        case 2:
            place = rng.choice([place for place in places(document) if place])
            other = document
            for key in place:
                other = other[key]
            parent[last] = deepcopy(other)
        case _:
            own = parent[last]
            near = [own * 2, own + 1, -own, float(own)] if type(own) in (int, float) else []
            parent[last] = deepcopy(rng.choice([*near, *HOSTILE]))
    return document


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def forged(rng: random.Random, data: bytes) -> bytes:
    members = unpack(data)
    name = rng.choice(list(members))
    json_name = rng.choice(("model.json", "certificate.json"))
    match rng.randrange(8):
        case 0 | 1 | 2 | 3:
            document = edited(rng, json.loads(members[json_name]))
            members[json_name] = f"{json.dumps(document)}\n".encode()
        case 4:  # a member of another model
            other = unpack(files()[rng.choice(KINDS)][1])
            members[name] = other[rng.choice(list(other))]
        case 5:
            members[name] = damaged(rng, members[name]) if members[name] else b"x"
        case 6:
            if rng.random() < 0.5:
                del members[name]
            else:
                members[rng.choice(("spare.json", "arrays/0000.npy", "arrays/9999.npy"))] = b"{}"
        case _:
            text = members[json_name]
            lines = (
                nested(100_000),
                b'{"a": ' * 50_000,
                text.replace(b": ", b":", 1),
                text.replace(b"{", b'{"format": 1, ', 1),
                text.replace(b"null", b"NaN", 1),
                text.replace(b"1", b"1" * 5000, 1),
            )
            members[json_name] = rng.choice(lines)
    return sealed(members)


def check_forged(count: int, seed: int, path: Path) -> int:
    """Whatever is accepted states what its plan proves, or more, and is otherwise the model."""
    rng = random.Random(seed)
    accepted = 0
    for _ in range(count):
        one, data = files()[rng.choice(KINDS)]
        model = loaded(forged(rng, data), path)
        if model is None:
            continue
        accepted += 1
        assert type(model) is type(one.model)
        last = Example(model, one.data).last
        derived = last.plan_.plan.certificate
        assert last.certificate_.run == derived.run
        assert last.certificate_.geometry == derived.geometry
        assert last.certificate_.epsilon(1e-5) >= derived.epsilon(1e-5)
        last.certificate_.verify()
        if np.array_equal(last.coef_, one.last.coef_) and model is last:
            scores = getattr(last, "decision_function", last.predict)(one.data[:3])
            assert scores.shape[0] == 3
        assert last.statement()
    return accepted


@pytest.mark.parametrize("check", [check_damaged, check_forged])
def test_hundreds_of_files(check: Callable[[int, int, Path], Any], tmp_path: Path) -> None:
    check(300, 1, tmp_path / "model")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("check", [check_damaged, check_forged])
def test_thousands_of_files(
    check: Callable[[int, int, Path], Any], seed: int, tmp_path: Path
) -> None:
    check(2_500, seed, tmp_path / "model")


def test_the_files_themselves_are_accepted(tmp_path: Path) -> None:
    """Without which the tests above would pass on any reader that refuses everything."""
    for one, data in files().values():
        model = loaded(sealed(unpack(data)), tmp_path / "model")
        np.testing.assert_array_equal(model.predict(one.data), one.model.predict(one.data))


def test_weights_of_another_model_change_nothing_but_the_model(tmp_path: Path) -> None:
    """A digest is no signature: whoever makes it anew writes another model of the same plan."""
    (one, data), (other, foreign) = files()["logistic"], files()["same plan"]
    own, theirs = unpack(data), unpack(foreign)
    weights = {name: theirs[name] for name in own if name.startswith("arrays/")}
    assert loaded(pack({**own, **weights}), tmp_path / "model") is None
    model = loaded(sealed({**own, **weights}), tmp_path / "model")
    np.testing.assert_array_equal(model.predict(one.data), other.model.predict(one.data))
    assert model.certificate_.to_json() == one.model.certificate_.to_json()
