"""A snapshot of what the package answers, to be taken before a change and compared after it.

Run from the root of the repository:

    python -m tests.properties.snapshot --bitwise    # print every difference from the file
    python -m tests.properties.snapshot --write      # take the snapshot anew

Numbers are written with the digits that give back the same float. Closed forms and Theorem B1 give
the same one on every processor of the kind it was taken on, with the libraries that it names
(`made_with`): they were, with every instruction set that NumPy, OpenBLAS and the C library choose
from on x86-64 switched off in turn. Another C library rounds `exp` and `log` otherwise, and what is
composed by Fourier transforms depends on the processor: `--bitwise` on all numbers is for one
machine, before and after.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import shiftdp as sdp
from tests.properties import snapshot_cases
from tests.properties.snapshot_cases import Case

__all__ = ["DELTAS", "EPSILON", "answer_of", "function_of", "made_with", "measured", "stored"]

FILE = Path(__file__).with_name("snapshot.json")
DELTAS = 1e-5, 1e-8
EPSILON, ORDER, ALPHA, LOSS = 1.0, 4.0, 0.1, 0.5
Record = dict[str, Any]


def answer_of(case: Case) -> Any:
    """What the public name of the case answers to its arguments."""
    if case.run is None:
        raise ValueError(f"{case} has no arguments")
    run = getattr(sdp, case.run[0])(**case.run[1])
    if case.call == "make":
        return run
    geometry = sdp.Geometry(**(case.geometry or {}))
    return getattr(sdp, case.call)(run, geometry, **case.options)


def certified(case: Case) -> Record:
    cert = answer_of(case)
    canonical = json.dumps(json.loads(cert.to_json()), sort_keys=True)
    return {
        "bound": cert.bound,
        "mu": cert.mu,
        "epsilon": [cert.epsilon(delta) for delta in DELTAS],
        "delta": cert.delta(EPSILON),
        "lower_mu": cert.lower_mu,
        "advantage": cert.advantage(),
        "renyi": cert.renyi(ORDER),
        "assumptions": len(cert.assumptions),
        "sha256": hashlib.sha256(canonical.encode()).hexdigest(),
    }


def compared(case: Case) -> Record:
    """The rows of a table, and what it warns of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        table = answer_of(case)
    return {
        "rows": [[row.name, row.bound, row.epsilon, row.mu] for row in table],
        "warnings": [f"{item.category.__name__}: {item.message}" for item in heard],
    }


def calibrated(case: Case) -> Record:
    """The fields that calibration changed."""
    found = vars(answer_of(case))
    kind, fields = case.run or ("", {})
    given = {**vars(getattr(sdp, kind)(**fields)), **vars(sdp.Geometry(**(case.geometry or {})))}
    return {name: value for name, value in found.items() if value != given[name]}


def refused(case: Case) -> str:
    """The class and the words of the error."""
    try:
        answer = answer_of(case)
    except sdp.ShiftdpError as refusal:
        return _said(refusal)
    raise ValueError(f"{case} is not refused, but {answer}")


def function_of(expression: str) -> sdp.TradeoffFunction:
    found = eval(expression, {name: getattr(sdp.fdp, name) for name in sdp.fdp.__all__})
    if not isinstance(found, sdp.TradeoffFunction):
        raise TypeError(f"{expression} is no tradeoff function")
    return found


def evaluated(expression: str) -> Record:
    """What a tradeoff function answers, and the law of its privacy loss where there is one."""
    f = function_of(expression)
    found: Record = {
        "value": f(ALPHA),
        "inverse": f.inverse()(ALPHA),
        "epsilon": f.epsilon(DELTAS[0]),
        "delta": f.delta(EPSILON),
        "advantage": f.advantage(),
        "renyi": _answered(lambda: f.renyi(ORDER)),
    }
    for under in ("P", "Q"):
        found[f"loss under {under}"] = _answered(lambda under=under: _law(f, under))  # type: ignore[misc]
    return found


def _law(f: sdp.TradeoffFunction, under: Any) -> list[float]:
    law = sdp.fdp.privacy_loss(f, under=under)
    return [float(law.log_survival(LOSS)), float(law.log_cdf(-LOSS)), law.log_mgf(2.0)]


def _answered(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except sdp.ShiftdpError as refusal:
        return _said(refusal)


def _said(refusal: Exception) -> str:
    return f"{type(refusal).__name__}: {refusal}"


_PARTS: dict[str, tuple[Callable[[], Iterable[Any]], Callable[[Any], Any]]] = {
    "certificates": (snapshot_cases.certificates, certified),
    "comparisons": (snapshot_cases.comparisons, compared),
    "calibrations": (snapshot_cases.calibrations, calibrated),
    "refusals": (snapshot_cases.refusals, refused),
    "functions": (snapshot_cases.functions, evaluated),
}


def measured(part: str, slow: bool | None = None) -> dict[str, Any]:
    """One part of the snapshot, by the names of its cases: the slow ones, the others, or all."""
    cases, measure = _PARTS[part]
    chosen = [c for c in cases() if slow is None or getattr(c, "slow", False) == slow]
    found = {str(case): measure(case) for case in chosen}
    if len(found) != len(chosen):
        raise ValueError(f"two cases of {part} have one name")
    found = json.loads(json.dumps(found))  # lists for tuples, as in the file
    return dict(found)


def made_with() -> dict[str, str]:
    """What the last digit of a closed form may depend on."""
    return {
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def stored() -> dict[str, dict[str, Any]]:
    return dict(json.loads(FILE.read_text()))


def _write() -> None:
    parts = [f'"made_with": {json.dumps(made_with())}']
    for part in _PARTS:
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in measured(part).items()]
        parts.append(f'"{part}": {{\n' + ",\n".join(lines) + "\n}")
    FILE.write_text("{" + ",\n".join(parts) + "}\n")


def _differences() -> list[str]:
    found = []
    for part in _PARTS:
        before, now = stored()[part], measured(part)
        for name in {**before, **now}:
            found += [f"{name}\n    {line}" for line in _differing(before.get(name), now.get(name))]
    return found


def _differing(before: Any, now: Any) -> list[str]:
    """By field, where both have fields. Text is compared, so that -0.0 is not 0.0."""
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = [(f"{key}: ", before.get(key), now.get(key)) for key in {**before, **now}]
    else:
        pairs = [("", before, now)]
    texts = [(key, json.dumps(a), json.dumps(b)) for key, a, b in pairs]
    return [f"{key}{a} -> {b}" for key, a, b in texts if a != b]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.snapshot")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--write", action="store_true", help="take the snapshot anew")
    task.add_argument("--bitwise", action="store_true", help="print every difference")
    if parser.parse_args().write:
        _write()
        return
    differences = _differences()
    sys.stdout.write("".join(f"{line}\n" for line in [*differences, f"{len(differences)} differ"]))
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
