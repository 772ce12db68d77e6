"""What happens on the page: plain methods, which `app` ties to its parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dash import no_update

from shiftdp._errors import ShiftdpError
from shiftdp.ui.explorer import parts
from shiftdp.ui.explorer.answers import Certified, certified, curves, estimate
from shiftdp.ui.explorer.background import BackgroundAnswers
from shiftdp.ui.explorer.code import as_command, as_python
from shiftdp.ui.explorer.downloads import FILES
from shiftdp.ui.explorer.fields import FIELDS, ORDERS, SECTIONS, moved_to
from shiftdp.ui.explorer.figures import (
    Figure,
    empty_figure,
    path_figure,
    position_figure,
    sweep_figure,
    tradeoff_figure,
)
from shiftdp.ui.explorer.layout import FILE, RUN
from shiftdp.ui.explorer.settings import CertifyArguments, Settings, Unclear
from shiftdp.ui.explorer.sweep import (
    Sweep,
    accountants,
    is_sampled,
    lengths_of,
    parameter_of,
    sweep,
    why_no_sweep,
)

PATIENCE = 0.04
"""Seconds that a callback waits for work before it lets the page ask again."""

_WORKING = "Being computed ..."
LINKS = [f"link-{name.replace('.', '-')}" for name in FILES]
"""The ids of the links to files, in the order of `FILES`."""

_UNSEEN: Mapping[str, str] = {"display": "none"}

Changes = dict[str, Any]


class Callbacks:
    """The callbacks of one page, with what works for them in the background."""

    def __init__(self, background: BackgroundAnswers) -> None:
        self.background = background

    # --- controls and address ---

    def synced(
        self,
        triggered: Set[str],
        search: str | None,
        tab: str,
        values: Mapping[str, str | None],
    ) -> Changes:
        """Controls, address and settings, after one of them changed; the others follow.

        Args:
            triggered: the ids of what changed: `url`, `tabs`, `field-...`; none at first.
            search: the part of the address from `?` on.
            tab: which is shown.
            values: of all controls.
        """
        pairs = parse_qsl((search or "").removeprefix("?"))
        chosen = FILE if dict(pairs).get("tab") == FILE else RUN
        there = Settings.from_query(urlencode([pair for pair in pairs if pair[0] != "tab"]))
        if not triggered or "url" in triggered:
            settings, same = there, Settings.of(values)
            texts = settings.by_name
            changed = (
                {}
                if settings == same
                else {name: texts.get(name, "") for name in settings.shown} | texts
            )
            address: Any = no_update
            tabs = chosen if chosen != tab else no_update
        else:
            changed = {}
            if "field-kind" in triggered:
                changed = moved_to(values.get("kind") or "", values)
            settings = Settings.of({**values, **changed})
            order = settings.by_name.get("order")
            if order is not None and order != values.get("order"):
                changed["order"] = order
            more = {"tab": tab} if tab == FILE else {}
            address, tabs = f"?{urlencode([*settings.texts, *more.items()])}", no_update
            if (settings, tab) == (there, chosen):
                # a control that the address has set says so: that is no new place to go back to
                address = no_update
        orders = ORDERS.get(settings.kind, ORDERS["cgd"])
        asked = not triggered or triggered & {"url", "field-kind"}
        shown = {FIELDS[name].section for name in settings.shown}
        return {
            "search": address,
            "tab": tabs,
            "query": settings.query,
            "values": {name: changed.get(name, no_update) for name in FIELDS},
            "shown": {name: {} if name in settings.shown else _UNSEEN for name in FIELDS},
            "sections": {name: {} if name in shown else _UNSEEN for name in SECTIONS},
            "orders": [{"value": value, "label": label} for value, label in orders.items()]
            if asked
            else no_update,
        }

    # --- the answer ---

    def answer(self, query: str, again: bool) -> Changes | None:
        """Epsilon, the sentence, the code; or what is wrong with the settings.

        None if the page asks again and there is nothing new; so below.
        """
        settings = Settings.from_query(query)
        try:
            asked = settings.asked()
            found = self._certified(query, asked, 0.0 if again else PATIENCE)
        except Unclear as unclear:
            return _refused(unclear.problems)
        except ShiftdpError as error:
            return _refused(settings.problems_of(error))
        if found is None and again:
            return None
        files = {name: f"/{file}?{query}" for name, file in zip(LINKS, FILES, strict=True)}
        ready = {
            "problems": [],
            "hidden": False,
            "errors": dict.fromkeys(FIELDS),
            "python": as_python(settings),
            "command": as_command(settings),
            "links": files,
        }
        if found is None:
            return ready | self._meanwhile(asked)
        return ready | {
            "summary": parts.summary(found),
            "headline": parts.headline(found),
            "notice": parts.notice(found.notice),
            "sentence": found.sentence,
            "hypotheses": parts.hypotheses(found),
            "caught": parts.caught_table(found),
            "asleep": True,
        }

    def _meanwhile(self, asked: CertifyArguments) -> Changes:
        quick = estimate(asked)
        shown = parts.working() if quick is None else parts.estimated(quick.value, quick.source)
        empty = {"notice": [], "sentence": _WORKING, "hypotheses": [], "caught": []}
        return {**empty, "summary": _WORKING, "headline": shown, "asleep": False}

    def _certified(self, query: str, asked: CertifyArguments, patience: float) -> Certified | None:
        found: Certified | None = self.background.ask(
            query, "certificate", lambda: certified(asked), patience
        )
        return found

    def _ready(self, query: str) -> tuple[CertifyArguments, Callable[[], Certified]] | None:
        """The run, and how its certificate is had; None where there is none."""
        try:
            asked = Settings.from_query(query).asked()
            self._certified(query, asked, 0.0)
        except (Unclear, ShiftdpError):
            return None
        return asked, lambda: self.background.recall(query, "certificate", lambda: certified(asked))

    # --- figures ---

    def drawn(self, query: str, again: bool) -> Changes | None:
        """The tradeoff function, the proof over time, the profile by position."""
        names = ("tradeoff", "about", "shifts", "positions")
        ready = self._ready(query)
        if ready is None:
            return dict.fromkeys(names, no_update) | {"asleep": True}
        asked, known = ready

        def work() -> Changes:
            number = known()
            found = curves(asked, number.certificate)
            return {
                "tradeoff": tradeoff_figure(found.tradeoffs, number.caught),
                "about": found.path.about,
                "shifts": path_figure(found.path),
                "positions": position_figure(found.positions, found.why_no_positions, asked.delta),
            }

        try:
            found: Changes | None = self.background.ask(
                query, "curves", work, 0.0 if again else PATIENCE
            )
        except ShiftdpError:  # the answer says what it is
            return dict.fromkeys(names, no_update) | {"asleep": True}
        if found is not None:
            return found | {"asleep": True}
        if again:
            return None
        waiting = empty_figure(_WORKING)
        return dict.fromkeys(names, waiting) | {"about": _WORKING, "asleep": False}

    def accounts(self, query: str, again: bool) -> Changes | None:
        """The table of accountants, and epsilon along the length; of sampled runs bit by bit."""
        ready = self._ready(query)
        if ready is None:
            return {"accounts": no_update, "epochs": no_update, "asleep": True}
        asked, known = ready
        patience = 0.0 if again else PATIENCE
        until = monotonic() + patience
        try:
            rows = self.background.ask(
                query, "rows", lambda: accountants(asked, known().certificate), patience
            )
            figure, whole = self._along(query, asked, until)
        except ShiftdpError:
            return {"accounts": no_update, "epochs": no_update, "asleep": True}
        shown: Any = no_update if again else _WORKING
        if rows is not None:
            shown = parts.accountant_table(rows, asked.delta)
        return {"accounts": shown, "epochs": figure, "asleep": rows is not None and whole}

    def _along(self, query: str, asked: CertifyArguments, until: float) -> tuple[Figure, bool]:
        """The figure with the lengths that are ready, and whether these are all."""
        why = why_no_sweep(asked.run)
        if why is not None:
            return empty_figure(why), True
        lengths = lengths_of(asked.run)
        own = float(getattr(asked.run, parameter_of(asked.run) or ""))
        chunks = [lengths]
        if is_sampled(asked.run):  # the longest take no longer than the others, and say more
            chunks = [(own,), *((one,) for one in reversed(lengths) if one != own)]
        ready: list[Sweep] = []
        for chunk in chunks:
            left = max(0.0, until - monotonic())
            one = self.background.ask(query, chunk, partial(sweep, asked, chunk), left)
            if one is not None:
                ready.append(one)
        if not ready:
            return empty_figure(_WORKING), False
        whole = ready[0]
        for one in ready[1:]:
            whole = whole.joined(one)
        return sweep_figure(whole, own, asked.delta), len(ready) == len(chunks)


def _refused(problems: Mapping[str, str]) -> Changes:
    """The page without an answer; what is wrong stands at the controls, and where it would be."""
    return {
        "summary": "No number: see the settings in red",
        "headline": [],
        "notice": [],
        "hypotheses": [],
        "caught": [],
        "problems": parts.complaint(problems) if problems else [],
        "hidden": True,
        "errors": {name: problems.get(name) for name in FIELDS},
        "sentence": "",
        "python": no_update,
        "command": no_update,
        "links": _kept(LINKS),
        "asleep": True,
    }


def _kept(names: Collection[str]) -> Changes:
    return dict.fromkeys(names, no_update)
