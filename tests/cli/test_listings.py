import json


def test_methods_and_encoders_are_listed_with_their_settings(invoke):
    assert "kmeans" in [row["name"] for row in json.loads(invoke("methods", "--json").stdout)]
    settings = json.loads(invoke("methods", "kmeans", "--json").stdout)["settings"]
    assert {row["setting"] for row in settings} >= {"n_clusters", "n_init", "random_state"}
    assert {"tfidf", "bundled"} <= {row["name"] for row in json.loads(invoke("encoders", "--json").stdout)}


def test_a_data_set_is_listed_with_its_files(invoke):
    shown = invoke("datasets", "agnews").stdout
    assert "agnewsdataraw-8000" in shown
    assert "8000" in shown
    assert "stackoverflow" not in shown


def test_a_data_set_is_shown_with_some_rows(invoke):
    assert "crash_freeze" in invoke("datasets", "helpdesk").stdout
    examples = json.loads(invoke("datasets", "helpdesk", "--json").stdout)[0]["examples"]
    assert len({example["label"] for example in examples}) > 2


def test_rows_are_not_downloaded_to_be_shown(invoke, monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    assert json.loads(invoke("datasets", "agnews", "--json").stdout)[0]["examples"] == []


def test_the_demo_data_set_is_written_as_csv(invoke, tmp_path):
    invoke("datasets", "helpdesk", "-o", tmp_path / "demo.csv", "-q")
    assert (tmp_path / "demo.csv").read_text().startswith("text,label\n")
