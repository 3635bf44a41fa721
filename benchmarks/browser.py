"""Open pages in Chromium without a screen: for the tests of reports, the screenshot and the frame rate."""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--force-prefers-reduced-motion",
)  # fmt: skip


def missing() -> str:
    """Return what is not installed; empty if a browser can be opened."""
    if not any(map(shutil.which, _PROGRAMS)):
        return "no Chromium"
    return "" if shutil.which("chromedriver") else "no chromedriver"


@contextmanager
def open_browser(width: int = 1360, height: int = 900) -> Iterator[Any]:
    """Yield a driver of selenium with a fresh profile; it logs the console and every request."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, _PROGRAMS)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for option in (*_OPTIONS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
            options.add_argument(option)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def resize(driver: Any, width: int, height: int, scale: float = 1, *, mobile: bool = False) -> None:
    """Set the size of the page in CSS pixels, and the device pixels for each of them."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def screenshot(driver: Any, file: Path, *, wait: float = 0.6) -> None:
    """Write what is visible as a PNG file."""
    time.sleep(wait)
    file.write_bytes(base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]))
