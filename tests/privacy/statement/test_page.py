"""The page: self-contained, small, escaped, the same each time."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisyGD, certify
from shiftdp.privacy.statement import ModelFacts, read_statement, statement_of
from shiftdp.privacy.statement.page import LARGEST, inert, pack
from tests.privacy.statement.examples import DAY, KINDS, STRONG, certificates, html, stated


class Tags(HTMLParser):
    """The elements of a page: those that are open at its end, and all attributes."""

    VOID = ("meta",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_small_and_needs_nothing_else(kind: str) -> None:
    text = html(kind)
    tags = Tags(text)
    assert not tags.open
    assert len(text.encode()) < LARGEST
    for tag, attributes in tags.seen:
        assert not {"src", "srcset", "onclick", "onload"} & set(attributes), tag
        assert (attributes.get("href") or "#").startswith("#")
        if tag == "script":
            assert attributes["type"] in ("application/json", "application/octet-stream")
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", text)
    assert "url(" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_everything_that_it_has_to(kind: str) -> None:
    words = " ".join(Tags(html(kind)).words)
    for heading in (
        "Epsilon and its unit", "The promise in plain words", "The whole curve",
        "What was run and what is released", "What is hidden and what would void it",
        "Sampling and trust", "Theorem and hypotheses", "How hyper-parameters were chosen",
        "Noise and arithmetic", "Other releases on the same data", "The data",
        "Versions and hashes", "Signature", "cap per person", "SHA-256",
    ):  # fmt: skip
        if heading == "cap per person" and kind in ("unlearning", "forgotten person"):
            continue
        assert heading in words


def test_the_same_statement_is_the_same_page() -> None:
    assert stated("cgd").html() == stated("cgd").html()
    assert stated("cgd", date="2026-02-01").html() != stated("cgd").html()


def test_nothing_from_a_file_becomes_part_of_the_page() -> None:
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e"
    text = stated(
        about={"title": nasty, "collection": nasty},
        model=ModelFacts(nasty, digest=nasty, not_covered=(nasty,), reasons=(nasty,)),
    ).html()
    tags = Tags(text)
    assert not any(tag == "img" for tag, _ in tags.seen)
    assert sum(tag == "script" for tag, _ in tags.seen) == 2
    assert "\u202e" not in text
    assert nasty[:-1] in " ".join(tags.words)
    assert read_statement(text).model is not None


def test_a_page_of_a_seeded_run_says_that_it_is_not_private() -> None:
    from shiftdp.training import Logistic, Plan, Seeded

    run = NoisyGD(n=20, steps=5, learning_rate=0.5, noise=1.0)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1, entropy=Seeded(1))
    text = statement_of(plan.certificate, date=DAY).html()
    assert text.count("NOT PRIVATE") == 2
    assert "NOT PRIVATE" not in html()


def test_it_can_be_read_by_day_by_night_on_paper_and_on_a_phone() -> None:
    for rule in ("prefers-color-scheme:dark", "@media print", "max-width:40rem", "@page"):
        assert rule in html()
    assert 'content="width=device-width, initial-scale=1"' in html()


def test_a_certificate_that_does_not_fit_is_refused() -> None:
    noise = [0.7 + (k * 0.61803398875) % 1 for k in range(40_000)]
    run = NoisyGD(n=50, steps=len(noise), learning_rate=0.4, noise=noise)
    certificate = certify(run, STRONG, bounds="composition")
    with pytest.raises(InvalidInput, match="does not fit into a statement of 300 KB"):
        statement_of(certificate, date=DAY).html()


def test_json_inside_cannot_end_its_element() -> None:
    assert inert("</script>") == r"\u003c/script\u003e"
    assert len(pack("a" * 1000)) < 50
    assert "<" not in inert(certificates()["gd"].to_json())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cgd", "pipeline"])
@pytest.mark.parametrize("width", [1000, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_all_of_it_at_any_width(
    tmp_path: Path, kind: str, width: int, scheme: str
) -> None:
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium is not installed: apt-get install chromium chromium-driver")
    (tmp_path / "s.html").write_text(html(kind), encoding="utf-8")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get((tmp_path / "s.html").as_uri())
        page = "document.documentElement"
        assert browser.execute_script(f"return {page}.scrollWidth") <= width
        beyond = (
            "return [...document.querySelectorAll('main *')].filter(e => "
            "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName)"
        )
        assert browser.execute_script(beyond) == []
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 30)")
    finally:
        browser.quit()
