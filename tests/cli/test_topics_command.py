import csv
import io
import json

import pytest

import coterie
from coterie.methods.deccrl import DECCRL


@pytest.fixture(scope="module")
def folder(topics, tmp_path_factory, invoke):
    """The output of `coterie cluster --method deccrl`."""
    folder = tmp_path_factory.mktemp("topics")
    (folder / "texts.txt").write_text("\n".join(topics[0]), encoding="utf-8")
    settings = [f"--set={pair}" for pair in ("epochs=1", "epoch_steps=2", "n_topics=2", "word_dim=20")]
    done = invoke(
        "cluster", folder / "texts.txt", "-k", 3, "-m", "deccrl", "-e", "tfidf", "-o", folder / "out", *settings
    )
    assert "weight" in done.stdout  # the topics are shown with the clusters
    return folder


def saved_topics(folder):
    return coterie.load(folder / "out" / "model").topics()


def test_the_table_has_a_row_for_each_topic(invoke, folder):
    lines = invoke("topics", folder / "out" / "model", "--words", 4).stdout.splitlines()
    rows = [line.split() for line in lines if line.strip() and line.split()[0].isdigit()]
    assert [row[:2] for row in rows] == [[str(k), str(t)] for k in range(3) for t in (1, 2)]
    words = [one.words[:4] for topics in saved_topics(folder) for one in topics]
    assert ["".join(row[3:]).split(",") for row in rows] == words


def test_json_has_the_same_topics(invoke, folder):
    rows = json.loads(invoke("topics", folder / "out" / "model", "--json", "-n", 3).stdout)
    first = saved_topics(folder)[1][0]
    assert rows[1]["cluster"] == 1
    assert rows[1]["topics"][0] == {"weight": first.weight, "words": first.words[:3]}


def test_a_file_gets_the_cluster_and_the_topic_proportions_of_each_text(invoke, folder, topics, tmp_path):
    model = coterie.load(folder / "out" / "model")
    (tmp_path / "new.csv").write_text("id,text\n7,goal match team\n8,\n9,gene cell\n", encoding="utf-8")
    done = invoke("topics", folder / "out" / "model", tmp_path / "new.csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.stderr.strip() == "Warning: 1 of 3 texts is blank and gets no cluster."
    texts = ["goal match team", "gene cell"]
    assert [row["id"] for row in rows] == ["7", "8", "9"]
    assert [int(row["cluster"]) for row in rows[::2]] == model.predict(texts).tolist()
    shares = [[float(row["topic_1"]), float(row["topic_2"])] for row in rows[::2]]
    assert shares == pytest.approx(model.proportions(texts), abs=1e-4)
    assert (rows[1]["cluster"], rows[1]["topic_1"]) == ("", "")
    invoke("topics", folder / "out" / "model", tmp_path / "new.csv", "--out", tmp_path / "shares.jsonl")
    written = [json.loads(line) for line in (tmp_path / "shares.jsonl").read_text().splitlines()]
    assert written[0]["topic_1"] == pytest.approx(shares[0][0])


def test_the_table_of_clusters_and_info_have_the_topics(invoke, folder):
    first = saved_topics(folder)[0][0].words[:5]
    with (folder / "out" / "clusters.csv").open(encoding="utf-8") as stream:
        rows = {row["cluster"]: row["topics"] for row in csv.DictReader(stream)}
    assert rows["0"].split(" | ")[0] == ", ".join(first)
    assert ", ".join(first) in invoke("info", folder / "out" / "model").stdout
    config = json.loads(invoke("info", folder / "out" / "model", "--json").stdout)
    assert config["clusters"][0]["topics"][0]["words"][:5] == config["notes"]["topics"][0][0]["words"][:5] == first
    assert "words" not in config["notes"]  # thousands of them


def test_evaluate_adds_the_metrics_of_topics(invoke, folder):
    out = invoke("evaluate", folder / "texts.txt", "--model", folder / "out" / "model", "--json").stdout
    scores = json.loads(out)
    assert -1 <= scores["coherence"] <= 1
    assert 0 < scores["diversity"] <= 1
    assert "coherence" in invoke("evaluate", folder / "texts.txt", "--model", folder / "out" / "model").stdout


def test_a_model_without_topics_is_an_error(invoke, topics, tmp_path):
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0]).save(tmp_path / "kmeans")
    error = invoke("topics", tmp_path / "kmeans", code=2)
    assert "has no topics. The method 'deccrl' learns topics from texts; this is made by 'kmeans'" in error.stderr
    DECCRL(n_clusters=3, encoder="tfidf", epochs=0, reconstruct="none").fit(topics[0]).save(tmp_path / "plain")
    assert "with reconstruct=none" in invoke("topics", tmp_path / "plain", code=2).output
    assert "There is no model folder" in invoke("topics", tmp_path / "nowhere", code=2).output
