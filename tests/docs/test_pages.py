"""The code of the documentation runs, and the site builds without a warning and without a network."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/tutorials/*.md")), ROOT / "docs" / "start.md", ROOT / "docs" / "from-bertopic.md"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One cache for all pages: many encode the same messages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COTERIE_CACHE_MB", "100")
        yield


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch, cache):
    monkeypatch.syspath_prepend(str(ROOT))
    from website.run_page import run_page

    before = path.read_text(encoding="utf-8")
    after = run_page(before, tmp_path)
    prose = re.compile(r"^```.*?^```", flags=re.S | re.M)
    assert prose.sub("", after).split() == prose.sub("", before).split()
    assert after.count("```text") == before.count("```text")  # the page shows all that is printed


def build(target, *, root=ROOT):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", target]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; building it makes an error of every broken link, anchor and picture."""
    target = tmp_path_factory.mktemp("site")
    built = build(target)
    assert built.returncode == 0, built.stderr
    return target


def test_the_site_loads_nothing_from_elsewhere(site):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 30
    for page in pages:
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text(encoding="utf-8")):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag), (page, tag)


def test_every_page_is_in_the_navigation(site):
    home = (site / "index.html").read_text(encoding="utf-8")
    for path in ROOT.glob("docs/**/*.md"):
        assert (
            f'href="{path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()}"' in home or path.stem == "index"
        )


def test_settings_and_commands_are_those_of_the_code(site):
    import coterie
    from coterie.cli.main import app
    from coterie.hyper import settings

    sccl = (site / "methods" / "sccl.html").read_text(encoding="utf-8")
    shared = {setting.name for setting in settings(coterie.DeepClusterer)}
    for setting in settings(coterie.SCCL):
        assert setting.name in shared or f"<code>{setting.name}</code>" in sccl
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert all(f"coterie {command.callback.__name__}" in commands for command in app.registered_commands)
    assert "--no-save" in commands
    assert "<math" in sccl


def test_a_broken_link_is_an_error(tmp_path):
    for name in ("website", "src", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs" / "new.md").write_text("# New\n\na [link](nowhere.md) and [another](faq.md#none)\n")
    built = build(tmp_path / "site", root=tmp_path)
    assert built.returncode == 1
    assert re.findall(r"Doc file 'new.md' contains a link '([^']+)'", built.stderr) == ["nowhere.md", "faq.md#none"]


def test_a_page_without_a_title_is_an_error(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website.hooks import _check_title

    with pytest.raises(Exception, match=r"docs/new.md has no title. Begin it with a line '# Title'."):
        _check_title("new.md", "some text")


def test_a_new_page_finds_its_section(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website.navigation import navigation

    pages = ["new.md", "methods/new.md", "index.md", "tutorials/b.md", "tutorials/tickets.md", "adr/a.md", "adr/b.md"]
    assert navigation(pages) == [
        {"Start": [{"Overview": "index.md"}]},
        {"Tutorials": ["tutorials/tickets.md", "tutorials/b.md"]},
        {"Methods": ["methods/new.md"]},
        {"More": ["new.md"]},
        {"Project": [{"Decisions": ["adr/a.md", "adr/b.md"]}]},
    ]


def test_the_service_of_the_examples_answers(monkeypatch):
    import io

    import coterie

    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    from serve import make_app

    app = make_app(
        coterie.KMeans(n_clusters=2, encoder="tfidf").fit(["my password", "reset password", "printer", "printer jam"])
    )

    def ask(text):
        status = []
        request = {"CONTENT_LENGTH": len(text), "wsgi.input": io.BytesIO(text.encode())}
        return json.loads(b"".join(app(request, lambda *given: status.append(given[0])))), status[0]

    (rows, ok), (error, bad) = ask('["forgot my password", "printer"]'), ask("no JSON")
    assert (ok, bad) == ("200 OK", "400 Bad Request")
    assert rows[0]["confidence"] > 0.5
    assert rows[0]["cluster"] != rows[1]["cluster"]
    assert "error" in error
