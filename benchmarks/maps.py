"""How fast maps are made and drawn: libraries for the layout, and ways of drawing in software rendering.

    python benchmarks/maps.py layout --n 20000         CPU seconds of t-SNE (openTSNE), UMAP and PCA; import included
    python benchmarks/maps.py draw                     frames a second while panning 20,000 points, in Chromium
    python benchmarks/maps.py page build/so/report.html   the same for the map of a report

UMAP needs `pip install umap-learn`, and `draw` takes the files of other libraries from the folder --libraries:
regl-scatterplot.js with regl.js and pub-sub-es.js, deck.js (the bundles of their npm packages).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from browser import open_browser

WAYS = ("raster", "webgl", "fillRect", "drawImage", "arc", "regl-scatterplot", "deck.gl")
ALGORITHMS = ("PCA", "t-SNE", "UMAP")


def main() -> None:
    """Run one of the three measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["layout", "draw", "page", "one"])
    parser.add_argument("target", nargs="?", help="the report of `page`")
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--libraries", type=Path, default=Path("build/libraries"))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.what == "layout":
        measure_layouts(given.n)
    elif given.what == "one":
        print(_layout_seconds(given.target, given.n))
    elif given.what == "draw":
        measure_drawing(given.n, given.libraries, given.rounds)
    else:
        measure_page(Path(given.target), given.rounds)


def measure_layouts(n: int) -> None:
    """Print the CPU seconds of each algorithm, each in a process of its own."""
    for name in ALGORITHMS:
        command = [sys.executable, __file__, "one", name, "--n", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{name:8} {done.stdout.strip() or done.stderr.strip().splitlines()[-1]}", flush=True)


def _layout_seconds(name: str, n: int) -> str:
    """Place synthetic embeddings of 20 clusters; return the CPU seconds of the import and of the layout."""
    from coterie.knn.graph import knn_graph
    from coterie.report.layout import principal_components, tsne

    rng = np.random.default_rng(0)
    h = (rng.normal(size=(20, 384))[np.arange(n) % 20] + 1.5 * rng.normal(size=(n, 384))).astype(np.float32)
    h /= np.linalg.norm(h, axis=1, keepdims=True)
    graph = knn_graph(h, 15)
    start = time.process_time()
    if name == "UMAP":
        import umap
    elif name == "t-SNE":
        import openTSNE  # noqa: F401
    imported = time.process_time()
    if name == "UMAP":
        own = np.arange(n)[:, None]
        knn = np.hstack([own, graph.indices]), np.hstack([np.zeros((n, 1)), 1 - graph.similarities])
        umap.UMAP(n_neighbors=16, metric="cosine", precomputed_knn=knn, random_state=0, n_jobs=1).fit_transform(h)
    elif name == "t-SNE":
        tsne(h, graph, seed=0)
    else:
        principal_components(h)
    return f"import {imported - start:.1f} s, layout {time.process_time() - imported:.1f} s"


def measure_drawing(n: int, libraries: Path, rounds: int) -> None:
    """Print the best frame rate of each way of drawing, in interleaved rounds."""
    page = (Path(__file__).parent / "maps.html").read_text(encoding="utf-8")
    best = dict.fromkeys(WAYS, "")
    rates = dict.fromkeys(WAYS, 0.0)
    with tempfile.TemporaryDirectory() as folder, open_browser() as driver:
        file = Path(folder) / "maps.html"
        file.write_text(page, encoding="utf-8")
        for library in libraries.glob("*.js"):
            (Path(folder) / library.name).write_bytes(library.read_bytes())
        for _ in range(rounds):
            for way in WAYS:
                driver.get(f"{file.as_uri()}?n={n}")
                result = _run(driver, "run(arguments[0])", way)
                if result.get("error") or result["rate"] > rates[way]:
                    rates[way] = result.get("rate", 0.0)
                    best[way] = (
                        result.get("error") or f"{result['rate']:5.1f} frames/s, {result['script']:5.1f} ms of script"
                    )
    for way in WAYS:
        print(f"{way:17} {best[way]}")


def _rate(result: dict[str, float]) -> str:
    return f"{result['rate']:.1f} frames/s, {result['script']:.1f} ms of script"


def measure_page(file: Path, rounds: int) -> None:
    """Print the seconds until the page is drawn, and the frame rate while its map is panned back and forth: medians."""
    script = """(async () => {
        const { map, points } = coterie; const times = []; const start = performance.now();
        await new Promise((done) => { const step = (now) => {
            const begin = performance.now(); const t = (now - start) / 200;
            map.pan(6 * Math.sin(t), 4 * Math.cos(t)); map.draw();
            times.push(performance.now() - begin);
            if (now - start < 3000) requestAnimationFrame(step); else done(); }; requestAnimationFrame(step); });
        times.sort((a, b) => a - b);
        const seconds = (performance.now() - start) / 1000;
        return { rate: times.length / seconds, script: times[times.length >> 1], n: points.x.length };
    })()"""
    with open_browser() as driver:
        loads, results = [], []
        for _ in range(rounds):
            driver.get(file.absolute().as_uri())
            loads.append(driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
            results.append(_run(driver, script))
    median = sorted(results, key=lambda result: float(result["rate"]))[rounds // 2]
    load, size = sorted(loads)[rounds // 2] / 1000, file.stat().st_size / 1e6
    print(f"{median['n']:,} points, {size:.1f} MB: loaded in {load:.2f} s, {_rate(median)}")


def _run(driver: Any, expression: str, *arguments: Any) -> Any:
    driver.set_script_timeout(120)
    finish = "const finish = arguments[arguments.length - 1];"
    return driver.execute_async_script(f"{finish} {expression}.then(finish)", *arguments)


if __name__ == "__main__":
    main()
