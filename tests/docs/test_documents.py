"""What the documents say is true: their code runs, their commands exist, their files are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.clusterer import METHODS

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # for website/
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN = ("neighbors", "refine")  # methods without a paper
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, flags=re.S))
def test_the_python_of_the_readme_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})


def test_the_make_targets_of_the_documents_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    used = {word for path in DOCUMENTS for word in re.findall(r"`?make ([a-z-]+)`", path.read_text(encoding="utf-8"))}
    assert {"demo", "test"} <= used | set(re.findall(r"^make ([a-z-]+)", README, flags=re.M))
    assert used <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text(encoding="utf-8")):
        is_generated = re.search(r"(^|/)(reference|methods)/\w+\.md$", link)  # `make docs` checks those
        assert is_generated or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_that_is_named_exists(path):
    for name in re.findall(
        r"`((?:src|tests|docs|benchmarks|methods|encoders|data|cli)/[\w/.-]+\.\w+)`", path.read_text()
    ):
        assert (ROOT / name).exists() or (ROOT / "src" / "coterie" / name).exists(), name


def test_make_alone_lists_the_targets():
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(f"  {target} " in listed for target in ("install", "demo", "test", "check", "bench-encode"))


def test_the_readme_is_one_screen_and_a_table():
    rows = [line for line in README.splitlines() if line.startswith("|")]
    assert rows[0].count("|") == 8  # the data set and six columns
    assert len(README.splitlines()) - len(rows) < 70
    assert len(re.search(r"```python\n(.*?)```", README, flags=re.S)[1].strip().splitlines()) <= 7


def test_the_tables_in_documents_are_made_from_the_results(monkeypatch):
    """`make benchmarks` writes them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import documents

    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path.name: path.read_text(encoding="utf-8") for path in pages}
    assert [name for name, text in texts.items() if documents.fill(text) != text] == []
    assert sum("<!-- table: " in text for text in texts.values()) >= 7


def test_architecture_is_short():
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) < 150


def test_the_version_is_said_once():
    import tomllib

    import coterie

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert (ROOT / project["tool"]["hatch"]["version"]["path"]).samefile(coterie.__file__)
    assert f"version: {coterie.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{coterie.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    command = Path(sys.executable).parent / "coterie"
    assert (
        subprocess.run([command, "--version"], capture_output=True, text=True).stdout.split()[1] == coterie.__version__
    )


def test_the_workflows_call_make_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        commands = re.findall(r"run: (.*)", path.read_text())
        assert commands
        assert {re.match(r"make ([a-z-]+)", command)[1] for command in commands} <= targets


def test_the_citation_names_the_paper_of_every_trained_method():
    citation = (ROOT / "CITATION.cff").read_text()
    for method in ("sccl", "aecl", "deccrl", "clusterbert", "tcc"):
        source = (ROOT / "src" / "coterie" / "methods" / f"{method}.py").read_text()
        assert re.search(r"Paper: (\S+)", source)[1] in citation


def test_lower_bounds_are_read_from_pyproject():
    command = [sys.executable, ROOT / ".ci" / "lowest_versions.py", "parquet"]
    pins = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert any(pin.startswith("numpy==2.") for pin in pins)
    assert any(pin.startswith("pyarrow==") for pin in pins)
    assert len(pins) == len(set(pins)) == 9


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name):
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "methods").glob("*.md")]
    found = [page for page in pages if f"`--method {name}`" in page and f"`coterie.{METHODS[name].__name__}`" in page]
    assert len(found) == 1
    for section in ("Idea", "Equations", "Settings", "Results", "When to use"):
        assert f"\n## {section}" in found[0], section
    reference = found[0].split("\n## Idea")[0]
    assert name in OWN or "[paper](https://" in reference, "no reference"


@pytest.mark.parametrize("page", ["kmeans", "hacsd", "dec", "stcc", "vascl", "cc", "mice"])
def test_the_page_of_a_baseline_has_strengths_and_weaknesses(page):
    text = (ROOT / "docs" / "methods" / f"{page}.md").read_text(encoding="utf-8")
    section = text.split("\n## Strengths and weaknesses\n")[1].split("\n## ")[0]
    assert len(section.split()) > 30
