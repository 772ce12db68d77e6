"""The page in a real browser: what is set is what is certified, and it can be taken away."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp._printed import percent, up
from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.explorer.settings import Settings
from tests.ui.explorer.browser import Page, opened, served

SGD = (
    "?kind=sgd&n=60000&batch_size=1500&steps=400&learning_rate=0.05&noise=0.01&strong_convexity=0.002"
    "&smoothness=32.502&sensitivity=10&delta=1e-5"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with served() as address, opened(address, tmp_path_factory.mktemp("browser")) as found:
        yield found


def certified(settings: Settings) -> tuple[sdp.Certificate, float]:
    """What `certify` says of some settings, and epsilon at their delta."""
    run, geometry, delta, bounds = settings.asked()
    found = sdp.certify(run, geometry, delta=delta, bounds=bounds)
    return found, found.epsilon(delta)


def stands(page: Page, settings: Settings) -> None:
    """Wait until the page shows the number that `certify` gives."""
    epsilon = certified(settings)[1]
    page.shows("#summary", f"ε ≤ {up(epsilon)} at δ")
    page.shows("#epsilon", up(epsilon))
    assert page.text("#epsilon") == up(epsilon)


def test_the_numbers_are_those_of_certify_and_nothing_leaves_the_machine(page: Page) -> None:
    page.requests(), page.complaints()
    page.open()
    settings = Settings.first()
    certificate, epsilon = certified(settings)
    stands(page, settings)
    assert page.text("#theorem") == certificate.bound
    assert page.text("#mu") == up(certificate.mu)
    assert page.text("#advantage") == percent(certificate.advantage())
    assert [row[1] for row in page.cells("caught")] == [
        percent(certificate.tpr(fpr)) for fpr in (0.001, 0.01, 0.1)
    ]
    assert f"({up(epsilon)}, 1e-05)" in page.text("#sentence")
    page.until(lambda: len(page.cells("accountants")) == 5)
    table = sdp.compare(certificate.run, certificate.geometry, delta=1e-5)
    for row, (name, shown, _) in zip(table, page.cells("accountants"), strict=True):
        value = row.epsilon
        assert value is not None
        slack = -1e-4 if name == "lower bound" else 1e-4
        assert min(value, value + slack) <= float(shown) <= max(value, value + slack)
    tradeoff = page.figure("tradeoff")
    points = tradeoff["data"][-1]
    assert points["y"] == pytest.approx([1.0 - certificate.tpr(x) for x in points["x"]])
    curve = next(one for one in tradeoff["data"] if one["name"].startswith("this run"))
    assert curve["y"] == pytest.approx(np.asarray(certificate.tradeoff(curve["x"])).tolist())
    page.until(lambda: bool(page.figure("epochs")["data"]))  # it is drawn by a callback of its own
    epochs = {trace["name"] for trace in page.figure("epochs")["data"]}
    assert epochs == {"our bound", "composition", "prior Rényi", "paper", "lower bound"}
    assert len(page.figure("shifts")["data"][0]["x"]) == 2_000
    assert len(page.figure("positions")["data"][0]["x"]) == 40
    asked = [urlsplit(url) for url in page.requests()]
    # the browser's own pages, and what is inside of the page
    inside = ("about", "blob", "chrome", "chrome-untrusted", "data")
    assert {url.netloc for url in asked if url.scheme not in inside} == {
        urlsplit(page.address).netloc
    }
    assert page.complaints() == []


CHANGES = {
    "order": "reshuffled",
    "adjacency": "zero_out",
    "n": "30000",
    "batch_size": "7000",
    "last_batch": "divide_by_b",
    "epochs": "20",
    "learning_rate": "0.02",
    "noise": "0.02",
    "strong_convexity": "0.01",
    "smoothness": "39.999",
    "sensitivity": "5",
    "diameter": "0.0005",
    "prox_convexity": "0.1",
    "records_per_person": "3",
    "arrangement": "one_per_batch",
    "further_steps": "40",
    "records": "2",
    "releases": "20,40",
    "delta": "1e-6",
    "bounds": "composition",
}
TOGETHER = {
    "last_batch": {"batch_size": "7000"},
    "arrangement": {"records_per_person": "3"},
    "records": {"further_steps": "40"},
    "batches_per_release": {"order": "shuffled"},
    "records_per_person": {"releases": ""},
}
QUICK = ("order", "noise", "further_steps", "bounds")


def changed(page: Page, kind: str, name: str, text: str) -> None:
    """Change one control of a fresh page; the number and the address follow."""
    start = Settings.of({n: f.start for n, f in FIELDS.items()} | {"kind": kind})
    before = {**start.by_name, **TOGETHER.get(name, {})}
    page.open(f"?{Settings.of(before).query}")
    stands(page, Settings.of(before))
    page.set(name, text)
    after = Settings.of({**before, name: text})
    stands(page, after)
    page.until(lambda: page.settings() == after)
    same = certified(after)[1] == certified(Settings.of(before))[1]
    assert not same or name == "adjacency"
    assert f"{text}" in page.text("#code-python") + page.text("#code-command")


@pytest.mark.parametrize("name", QUICK)
def test_a_control_changes_the_number_and_the_address(page: Page, name: str) -> None:
    changed(page, "cgd", name, CHANGES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHANGES if name not in QUICK])
def test_every_control_of_cyclic_batches_does(page: Page, name: str) -> None:
    changed(page, "cgd", name, CHANGES[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("gd", "steps", "100"),
        ("stream", "batches_per_release", "10"),
        ("stream", "order", "shuffled"),
        ("langevin", "steps", "10"),
        ("exponential", "sensitivity", "2"),
    ],
)
def test_controls_of_other_runs_do(page: Page, kind: str, name: str, text: str) -> None:
    changed(page, kind, name, text)


def has_kind(page: Page, kind: str) -> bool:
    return page.settings().kind == kind


def test_every_kind_of_run_can_be_chosen(page: Page) -> None:
    page.open()
    values = {name: field.start for name, field in FIELDS.items()}
    for kind in ("gd", "stream", "langevin", "exponential", "cgd"):
        page.choose("kind", kind)
        page.until(partial(has_kind, page, kind))
        settings = page.settings()
        assert set(settings.by_name) <= set(Settings.of({**values, "kind": kind}).shown)
        stands(page, settings)
        shown = {name for name in FIELDS if page.one(f"#field-{name}").is_displayed()}
        assert shown == set(settings.shown)


def test_a_quick_sampled_run(page: Page) -> None:
    poisson = "?kind=sgd&sampling=poisson&adjacency=zero_out&n=1000&batch_size=50&steps=100"
    query = poisson + "&learning_rate=0.05&noise=0.3&strong_convexity=0.002&smoothness=32.502"
    page.open(f"{query}&sensitivity=10&delta=1e-5")
    stands(page, page.settings())


@pytest.mark.slow
def test_a_sampled_run_shows_an_estimate_until_it_is_certified(page: Page) -> None:
    page.open(SGD)
    settings = Settings.from_query(SGD)
    page.shows("#summary", "ε ≤")
    stands(page, settings)
    assert not page.all("#estimate")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "name", "text"),
    [
        ({}, "steps", "80"),
        ({"adjacency": "zero_out"}, "sampling", "poisson"),
        ({"sampling": "poisson"}, "gradient_bound", "5"),
        ({"sampling": "poisson", "adjacency": "zero_out"}, "batch_cap", "400"),
        ({"sampling": "random_allocation", "adjacency": "zero_out", "epochs": "2"}, "epochs", "3"),
    ],
)
def test_controls_of_random_batches_change_the_number(
    page: Page, before: dict[str, str], name: str, text: str
) -> None:
    texts = {**Settings.from_query(SGD).by_name, **before}
    page.open(f"?{Settings.of(texts).query}")
    page.set(name, text)
    after = Settings.of({**texts, name: text})
    page.until(lambda: page.settings() == after)
    stands(page, after)


def test_an_invalid_setting_is_explained_beside_its_control(page: Page) -> None:
    page.open()
    stands(page, Settings.first())
    page.type("learning_rate", "0.1")
    page.shows("#shown-learning_rate", "exceeds 2/smoothness=0.0615347")
    assert page.one("#field-learning_rate").get_attribute("aria-invalid") == "true"
    page.shows("#complaint", "exceeds 2/smoothness=0.0615347")
    assert not page.one("#results").is_displayed()
    page.type("n", "many")
    page.shows("#shown-n", "n=many is not a number")
    page.type("n", "60000")
    page.type("learning_rate", "0.05")
    stands(page, Settings.first())
    assert page.one("#results").is_displayed()
    assert "exceeds" not in page.text("#shown-learning_rate")


def test_the_state_is_in_the_address_and_the_back_button_works(page: Page) -> None:
    page.open("?kind=gd&n=1000&steps=50&learning_rate=0.05&noise=0.01&strong_convexity=0.002"
              "&smoothness=32.502&sensitivity=10&delta=1e-6")  # fmt: skip
    first = page.settings()
    stands(page, first)
    assert page.one("#field-n").get_attribute("value") == "1000"
    page.type("noise", "0.05")
    second = Settings.of({**first.by_name, "noise": "0.05"})
    stands(page, second)
    page.until(lambda: page.settings() == second)
    page.driver.back()
    stands(page, first)
    page.until(lambda: page.one("#field-noise").get_attribute("value") == "0.01")
    page.driver.forward()
    stands(page, second)
    page.type("n", "2000")
    third = Settings.of({**second.by_name, "n": "2000"})
    stands(page, third)
    page.until(lambda: page.settings() == third)
    page.driver.back()
    page.driver.back()
    stands(page, first)
    page.until(lambda: page.settings() == first)


def test_figures_and_numbers_can_be_taken_away(page: Page) -> None:
    page.open()
    settings = Settings.first()
    stands(page, settings)
    page.figure("tradeoff"), page.figure("epochs")
    for kind in ("png", "svg"):
        page.press(f'[id*="tradeoff"][id*="{kind}"]')
        file = page.downloaded(f"shiftdp-tradeoff.{kind}")
        if kind == "png":
            assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        else:
            root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
            words = "".join(root.itertext())
            assert "false positive rate" in words
            assert "this run (Theorem B1)" in words
    page.press("#link-certificate-json")
    certificate = sdp.Certificate.from_json(page.downloaded("shiftdp-certificate.json").read_text())
    certificate.verify()
    assert certificate.epsilon(1e-5) == certified(settings)[1]
    for name in ("tradeoff", "epochs", "shifts", "positions"):
        page.press(f"#link-{name}-csv")
        rows = list(csv.reader(io.StringIO(page.downloaded(f"shiftdp-{name}.csv").read_text())))
        assert len(rows) > 5
        assert all(len(row) == len(rows[0]) for row in rows)
        assert all(float(cell) >= 0.0 for row in rows[1:] for cell in row)


def has_copied(page: Page, text: str) -> bool:
    read = "navigator.clipboard.readText().then(arguments[0], () => arguments[0](''))"
    return bool(page.driver.execute_async_script(read) == text)


def test_code_can_be_copied(page: Page) -> None:
    allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": allowed})
    page.open()
    stands(page, Settings.first())
    for name in ("python", "command"):
        page.press(f"#copy-{name}")
        text = page.text(f"#code-{name}")
        page.until(partial(has_copied, page, text))
    page.shows("#said", "Copied.")


def test_a_certificate_file_is_verified_explained_and_compared(page: Page, tmp_path: Path) -> None:
    geometry = sdp.Geometry(strong_convexity=0.01, smoothness=10.0, sensitivity=2.0)
    run = sdp.NoisyCGD(n=1000, batch_size=100, epochs=5, learning_rate=0.1, noise=0.05)
    certificate = sdp.certify(run, geometry)
    good, bad = tmp_path / "run.json", tmp_path / "forged.json"
    good.write_text(certificate.to_json())
    bad.write_text(certificate.to_json().replace('"noise": 0.05', '"noise": 0.5'))
    page.open()
    page.press("[role=tab]:nth-of-type(2)")
    page.until(lambda: page.one("#upload").is_displayed())
    page.one("#upload input").send_keys(str(good))
    page.shows("#verified", f"ε ≤ {up(certificate.epsilon(1e-5))}")
    page.shows("#file-theorem", certificate.bound)
    assert certificate.assumptions[0].statement in page.text("#verdict")
    beside = page.cells("file-beside")
    own = certified(Settings.first())[1]
    assert beside[0][1:] == [up(certificate.epsilon(1e-5)), up(own)]
    names = [trace["name"] for trace in page.figure("file")["data"]]
    assert names[1:3] == ["run.json", "the run of the first tab"]
    page.one("#upload input").send_keys(str(bad))
    page.shows("#unverified", "does NOT hold")
    assert "tab=file" in page.driver.current_url


def test_it_can_be_used_by_the_keyboard(page: Page) -> None:
    """From the first control to the last and beyond: nothing is skipped or holds the focus."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.open()
    stands(page, Settings.first())
    page.script("document.activeElement.blur()")
    seen: list[str] = []
    for _ in range(80):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        at = page.script(
            "const e = document.activeElement; return e.id || e.getAttribute('role') || e.tagName"
        )
        if seen and at == "BODY":
            break
        seen.append(str(at))
    fields = [name.removeprefix("field-") for name in seen if name.startswith("field-")]
    assert fields == list(Settings.first().shown)
    for other in ("copy-python", "copy-command", "link-certificate-json", "scheme"):
        assert other in seen
    unnamed = page.script(
        "return [...document.querySelectorAll('input:not([type=hidden]), button, a')].filter(e =>"
        " e.offsetParent && !(e.labels && e.labels.length) && !e.getAttribute('aria-label') &&"
        " !e.textContent.trim()).map(e => e.outerHTML.slice(0, 80))"
    )
    assert unnamed == []


def test_light_and_dark_can_be_chosen(page: Page) -> None:
    page.open()
    scheme = "return document.documentElement.dataset.mantineColorScheme"
    assert page.script(scheme) == "light"
    try:
        page.press("#scheme")
        page.until(lambda: page.script(scheme) == "dark")
        page.press("#scheme")
        page.until(lambda: page.script(scheme) == "light")
    finally:
        page.script("localStorage.clear()")  # what was chosen is remembered


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_readable_on_a_desktop_and_a_phone_light_and_dark(
    page: Page, width: int, dark: bool
) -> None:
    page.open(width=width, dark=dark)
    stands(page, Settings.first())
    page.figure("positions"), page.figure("epochs")
    assert page.script("return document.documentElement.scrollWidth") <= width
    colour = page.script("return getComputedStyle(document.body).backgroundColor")
    channels = [int(part) for part in colour.strip("rgba()").split(",")[:3]]
    assert (max(channels) < 80) == dark
    # titles of axes and legends are inside of their figure, and legends are above the curves
    cut = page.script(
        "return [...document.querySelectorAll('.js-plotly-plot')].filter(p => p.offsetParent)"
        ".flatMap(p => {const box = p.getBoundingClientRect();"
        " return [...p.querySelectorAll('.xtitle, .ytitle, .y2title, .legendtext')].filter(t => {"
        "  const b = t.getBoundingClientRect();"
        "  return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 ||"
        "   b.bottom > box.bottom + 1}).map(t => t.textContent)})"
    )
    assert cut == []
    over = page.script(
        "return [...document.querySelectorAll('.js-plotly-plot')].filter(p => p.offsetParent &&"
        " p.querySelector('.legend') && p.querySelector('.legend').getBoundingClientRect().bottom >"
        " p.querySelector('.nsewdrag').getBoundingClientRect().top).length"
    )
    assert over == 0
    titles = page.script(
        "return [...document.querySelectorAll('.js-plotly-plot')].filter(p => p.offsetParent)"
        ".map(p => p.querySelectorAll('.xtitle').length * p.querySelectorAll('.ytitle').length)"
    )
    assert titles == [1, 1, 1, 1]
    letters = page.script(
        "return getComputedStyle(document.querySelector('.js-plotly-plot .xtitle')).fill"
    )
    bright = [int(part) for part in letters.strip("rgba()").split(",")[:3]]
    assert (min(bright) > 150) == dark
