from pathlib import Path

from coterie.experiments.collection import read_folder
from coterie.experiments.page import NOT_MEASURED, make_page

ROOT = Path(__file__).parents[2]


def test_the_page_of_benchmarks_is_made_from_the_results():
    results = read_folder(ROOT / "benchmarks" / "results")
    conclusions = (ROOT / "benchmarks" / "conclusions.md").read_text(encoding="utf-8")
    made = make_page(results, conclusions, ROOT / "docs" / "figures")
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    # expected times of what is not measured change with every new method, so they may be older
    assert made.split(NOT_MEASURED)[0] == page.split(NOT_MEASURED)[0], "Run `make benchmarks`."
