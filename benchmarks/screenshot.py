"""Take the picture of a report that the README shows.

python benchmarks/screenshot.py build/screenshot/clusters/report.html docs/figures/report.png
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from browser import open_browser, resize, screenshot

_WIDTH, _HEIGHT, _SCALE = 1240, 960, 1.5
_COLORS = 256


def main(page: Path, target: Path) -> None:
    """Show the top of the page with the pointer on a text, and write it as a small PNG file."""
    from selenium.webdriver import ActionChains

    with open_browser(_WIDTH, _HEIGHT) as driver:
        resize(driver, _WIDTH, _HEIGHT, _SCALE)
        driver.get(page.absolute().as_uri())
        x, y = driver.execute_script(
            "const { map, points, report } = coterie; const i = report.clusters[0].typical[0];"
            "const [x, y] = map.toScreen(points.x[i], points.y[i]); return [x - map.width / 2, y - map.height / 2]"
        )
        ActionChains(driver).move_to_element_with_offset(driver.find_element("id", "stage"), int(x), int(y)).perform()
        screenshot(driver, target, wait=1.5)
    picture = Image.open(target).convert("RGB").quantize(_COLORS, kmeans=2, dither=Image.Dither.NONE)
    picture.save(target, optimize=True)
    print(f"{target}: {picture.width} x {picture.height}, {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
