"""`coterie cluster --name-with`."""

import json

import pytest
from tests.naming.conftest import TITLES
from typer.testing import CliRunner

from coterie.cli.main import app

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
def run(topics, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(topics[0]))

    def cluster(*arguments, code=0):
        result = CliRunner().invoke(app, ["cluster", str(file), "-k", "3", "-e", "tfidf", "-m", "kmeans", *arguments])
        assert result.exit_code == code, result.output
        return result

    return cluster


def test_names_are_in_all_results(run, server, tmp_path):
    result = run("--name-with", server.address, "--model", "tiny", "--out", str(tmp_path / "out"))
    assert "3 of 3 clusters named" in result.stderr
    for file in ("clusters.csv", "assignments.csv", "report.html"):
        written = (tmp_path / "out" / file).read_text(encoding="utf-8")
        assert all(title in written for title in TITLES.values()), file


def test_a_dry_run_shows_what_would_be_sent_and_sends_and_writes_nothing(run, server, topics, tmp_path):
    options = ("--name-with", server.address, "--model", "tiny", "--dry-run", "--out", str(tmp_path / "out"))
    plan = json.loads(run(*options, "--json").stdout)
    assert plan["calls"] == 3
    assert {text for cluster in plan["clusters"] for text in cluster["texts"]} <= set(topics[0])
    result = run(*options)
    assert "3 calls to" in result.stderr
    assert plan["clusters"][0]["texts"][0] in result.stdout
    assert not server.requests
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "tiny"], "--model belongs to --name-with"),
        (["--dry-run"], "--dry-run belongs to --name-with"),
        (["--name-with", "http://localhost:1"], "--model NAME"),
        (["--name-with", "ftp://localhost", "--model", "tiny"], "is not an address"),
        (["--name-with", "http://localhost:1", "--model", "tiny", "--items", "images"], "not of images"),
    ],
)
def test_wrong_options_are_said_before_the_work(run, arguments, message):
    assert message in run(*arguments, code=2).stderr
