"""The page in a real browser, headless and without network, and how the tests look at it."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar, cast

import pytest

from shiftdp.ui.explorer.fields import FIELDS
from shiftdp.ui.explorer.settings import Settings

pytest.importorskip("dash", reason="needs the extra `explore`")
pytest.importorskip("selenium", reason="needs selenium")

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE = 60.0
"""Seconds to wait for the page: how busy the machine is must not matter."""

Found = TypeVar("Found")


@contextmanager
def served() -> Iterator[str]:
    """The address of the page, on a port of its own."""
    from shiftdp.ui.explorer.app import make_app, make_server_of

    server = make_server_of(make_app(), 0)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def opened(address: str, folder: Path) -> Iterator[Page]:
    """A browser for the page; what it downloads goes to the folder."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium is not installed: apt-get install chromium chromium-driver")
    os.environ.setdefault("SE_OFFLINE", "true")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    preferences = {
        "download.default_directory": str(folder),
        "profile.default_content_setting_values.automatic_downloads": 1,
    }
    options.add_experimental_option("prefs", preferences)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield Page(chrome, address, folder)
    finally:
        chrome.quit()


class Page:
    """What a test does with the page, and what it reads off it."""

    def __init__(self, driver: Any, address: str, folder: Path) -> None:
        self.driver, self.address, self.folder = driver, address, folder

    def open(self, query: str = "", *, width: int = 1280, dark: bool = False) -> None:
        """Open it anew, and wait for the number."""
        self.sized(width)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}{query}")
        self.until(lambda: self.text("#summary"))

    def sized(self, width: int, height: int = 900) -> None:
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)

    # --- reading ---

    def until(self, condition: Callable[[], Found]) -> Found:
        """What the condition gives as soon as that is true."""

        def tried(_: Any) -> Found | None:
            try:
                return condition()
            except StaleElementReferenceException:
                return None

        found = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(tried)
        assert found is not None
        return cast(Found, found)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """What an element says, visible or not; empty if there is none."""
        code = "const e = document.querySelector(arguments[0]); return e ? e.textContent : ''"
        return str(self.script(code, selector))

    def shows(self, selector: str, text: str) -> None:
        """Wait until an element says this."""
        try:
            self.until(lambda: text in self.text(selector))
        except Exception as error:
            raise AssertionError(
                f"{selector} says {self.text(selector)!r}, not {text!r}; "
                f"the problems are {self.text('#problems')!r}"
            ) from error

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def figure(self, name: str) -> Any:
        """The traces and the layout of a figure, as Plotly has them."""
        plot = f"document.querySelector('#figure-{name} .js-plotly-plot')"
        code = f"const p = {plot}; return p && p.data ? [p.data, p.layout] : null"
        traces, layout = self.until(lambda: self.script(code))
        return {"data": traces, "layout": layout}

    def cells(self, name: str) -> list[list[str]]:
        """The rows of a table."""
        code = (
            "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return list(self.script(code, f"#table-{name}"))

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last time."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                params = message["params"]
                found.append(str(params.get("request", params)["url"]))
        return found

    def complaints(self) -> list[str]:
        """What the browser finds wrong."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    # --- doing ---

    def type(self, name: str, text: str) -> None:
        """Replace the text of a control."""
        field = self.one(f"#field-{name}")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)

    def choose(self, name: str, word: str) -> None:
        """Choose one of the words of a control, by the keyboard's way: open, pick."""
        label = {**FIELDS[name].words, "shuffled": "shuffled in each window"}[word]
        self.press(f"#field-{name}")

        def pick() -> bool:
            choices = [one for one in self.all("[role=option]") if one.is_displayed()]
            for one in choices:
                if one.text == label:
                    one.click()
                    return True
            return False

        self.until(pick)

    def set(self, name: str, text: str) -> None:
        (self.choose if FIELDS[name].words else self.type)(name, text)

    def press(self, selector: str) -> None:
        """Click it as a person would, without which a browser saves one file only."""
        self.into_view(selector)
        self.one(selector).click()

    def into_view(self, selector: str) -> None:
        self.script("arguments[0].scrollIntoView({block: 'center'})", self.one(selector))

    def downloaded(self, name: str) -> Path:
        """A file, as soon as all of it is there."""
        path = self.folder / name
        self.until(lambda: path.is_file() and path.stat().st_size > 0)
        return path

    def shot(self) -> bytes:
        """What is to be seen, as PNG."""
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        return base64.b64decode(found["data"])

    # --- comparing ---

    def settings(self) -> Settings:
        """Those of the address."""
        return Settings.from_query(str(self.script("return location.search")))
