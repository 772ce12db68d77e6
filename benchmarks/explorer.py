"""Claim: a callback of `shiftdp explore` takes at most 50 ms (closed forms), 150 ms (sampled runs).

The page's own requests, answered by the application in this process: after each change of a setting
its four callbacks are asked, and those that have not finished again at intervals, as the page does.
No two settings are equal, so that nothing is remembered. Shown are the median and the slowest of
the four on the clock, without the questions that follow, which only look whether work is done; and
how long it takes until the certified number, and until everything, stands on the page.

    python benchmarks/explorer.py
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from _timing import print_table
from wall import Claim, Limit, Reads, same, show

from shiftdp.ui.explorer.app import make_app
from shiftdp.ui.explorer.fields import FIELDS, moved_to
from shiftdp.ui.explorer.layout import POLL
from shiftdp.ui.explorer.settings import Settings

LIMITS = {"closed form": 0.050, "sampled": 0.150}
CHANGES = 8
STARTS = {name: field.start for name, field in FIELDS.items()}
OTHERS = {"sampling": "poisson", "adjacency": "zero_out", "kind": "sgd"}
RUNS = {
    "NoisyCGD, fixed": ("closed form", {}),
    "NoisyCGD, reshuffled": ("closed form", {"order": "reshuffled"}),
    "NoisyCGD, releases": ("closed form", {"releases": "400,1000"}),
    "NoisyCGD, people": ("closed form", {"records_per_person": "5"}),
    "Unlearning": ("closed form", {"further_steps": "400"}),
    "NoisyGD": ("closed form", {"kind": "gd"}),
    "NoisyStream": ("closed form", {"kind": "stream"}),
    "LangevinMC": ("closed form", {"kind": "langevin"}),
    "NoisySGD, without replacement": ("sampled", {"kind": "sgd"}),
    "NoisySGD, Poisson": ("sampled", OTHERS),
}
VARIED = {"langevin": "sensitivity"}


class Page:
    """The requests of a page, with the clock beside them."""

    def __init__(self) -> None:
        self.client: Any = make_app().server.test_client()
        known = self._get("/_dash-dependencies")
        self.outputs = {
            name: next(one["output"] for one in known if mark in one["output"])
            for name, mark in {
                "synced": "url.search",
                "answer": "again-answer.disabled",
                "curves": "again-curves.disabled",
                "accounts": "again-accounts.disabled",
            }.items()
        }

    def _get(self, path: str) -> Any:
        answer = self.client.get(path, headers={"Host": "127.0.0.1"})
        return json.loads(answer.get_data(as_text=True))

    def ask(self, name: str, inputs: dict[str, Any], changed: str) -> tuple[float, Any]:
        """Seconds on the clock, and the answer, which is None where there is nothing new."""
        parts = self.outputs[name].strip(".").split("...")
        split = [part.rpartition(".") for part in parts]
        request = {
            "output": self.outputs[name],
            "outputs": [{"id": one, "property": prop} for one, _, prop in split],
            "inputs": [
                {"id": key.rpartition(".")[0], "property": key.rpartition(".")[2], "value": value}
                for key, value in inputs.items()
            ],
            "changedPropIds": [changed],
        }
        began = time.perf_counter()
        answer = self.client.post(
            "/_dash-update-component", json=request, headers={"Host": "127.0.0.1"}
        )
        taken = time.perf_counter() - began
        assert answer.status_code in (200, 204), answer.get_data(as_text=True)
        return taken, answer.get_json()["response"] if answer.status_code == 200 else None

    def change(self, settings: Settings, field: str) -> tuple[list[float], float, float]:
        """The times of the first answers; when the number is there, and when everything is."""
        began, times = time.perf_counter(), []
        values = {**STARTS, **settings.by_name}
        inputs = {"url.search": "", "tabs.value": "run"}
        inputs |= {f"field-{name}.value": values[name] for name in FIELDS}
        taken, _ = self.ask("synced", inputs, f"field-{field}.value")
        times.append(taken)
        number, waiting, ticks = 0.0, ["answer", "curves", "accounts"], 0
        while waiting:
            for name in list(waiting):
                inputs = {"query.data": settings.query, f"again-{name}.n_intervals": ticks}
                changed = f"again-{name}.n_intervals" if ticks else "query.data"
                taken, found = self.ask(name, inputs, changed)
                if not ticks:
                    times.append(taken)
                if found is not None and found[f"again-{name}"].get("disabled"):
                    waiting.remove(name)
                    if name == "answer":
                        number = time.perf_counter() - began
            ticks += 1
            if waiting:
                time.sleep(POLL / 1e3)
        return times, number, time.perf_counter() - began


def changes(
    page: Page, name: str, number_of_round: int = 0
) -> tuple[list[float], list[float], list[float]]:
    """The times of the first answers, of the number and of everything, for several changes.

    They are others in each round: the explorer remembers what it was asked.
    """
    kind, texts = RUNS[name]
    which = texts.get("kind", "cgd")
    start = {**STARTS, **moved_to(which, STARTS), **texts}
    field = VARIED.get(which, "noise")
    times: list[float] = []
    numbers, wholes = [], []
    for i in range(CHANGES if kind == "closed form" else 3):
        varied = {
            **start,
            field: repr(float(start[field]) * (1.0 + 0.01 * (i + 1) + 0.001 * number_of_round)),
        }
        taken, number, whole = page.change(Settings.of(varied), field)
        times += taken
        numbers.append(number)
        wholes.append(whole)
    return times, numbers, wholes


def claims(full: bool) -> Iterator[Claim]:
    page = Page()
    page.change(Settings.first(), "noise")  # loads what is loaded once
    shown = {"NoisyCGD, fixed": "closed form", "NoisySGD, Poisson": "sampled"}
    for name in RUNS if full else shown:
        kind = RUNS[name][0]

        rounds = itertools.count()

        def median(name: str = name, rounds: Iterator[int] = rounds) -> tuple[float, str]:
            return statistics.median(changes(page, name, next(rounds))[0]), "all four answered"

        yield Claim(
            name=f"explorer/{name}",
            what=f"a callback of `shiftdp explore`, {name}: the median, on the clock",
            ours=Reads("callback", median),
            other=Limit("limit", LIMITS[kind], "all four answered"),
            agree=same(),
            kind="limit",
            goal=1.0,
            rounds=3,
        )


def main() -> None:
    show(claims(full=False))
    print()
    page, rows = Page(), []
    page.change(Settings.first(), "noise")
    for name in RUNS:
        times, numbers, wholes = changes(page, name)
        cells = [statistics.median(times), max(times), *map(statistics.median, (numbers, wholes))]
        rows.append((name, RUNS[name][0], *(f"{cell * 1e3:.1f}" for cell in cells)))
    print_table(("run", "", "median ms", "slowest ms", "number ms", "everything ms"), rows)


if __name__ == "__main__":
    main()
