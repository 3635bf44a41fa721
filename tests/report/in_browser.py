"""What tests do in a page that is open in a browser."""

import importlib.util
import time
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("browser", Path(__file__).parents[2] / "benchmarks" / "browser.py")
browser = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(browser)


def active(driver):
    return driver.execute_script("return coterie.activePoints()")


def rows(driver, column):
    """The cells of one column of the table."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#table-body tr')].map((row) => row.cells[arguments[0]].textContent)",
        column,
    )


def drag(driver, path, *, shift=False):
    """Drag along positions inside the map."""
    from selenium.webdriver import ActionChains, Keys

    stage = driver.find_element("id", "stage")
    middle = stage.size["width"] / 2, stage.size["height"] / 2
    actions = ActionChains(driver, duration=20)
    if shift:
        actions.key_down(Keys.SHIFT)
    for number, (x, y) in enumerate(path):
        actions.move_to_element_with_offset(stage, int(x - middle[0]), int(y - middle[1]))
        if number == 0:
            actions.click_and_hold()
    actions.release()
    if shift:
        actions.key_up(Keys.SHIFT)
    actions.perform()


def wait_for(condition, seconds=10):
    """Wait until ``condition()`` is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
