import csv

import numpy as np
import pytest

from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.experiments import runner
from coterie.experiments.jobs import expand
from coterie.experiments.runner import run_job
from coterie.experiments.views_file import views_file


def write(path, texts, views):
    with path.open("w", newline="") as stream:
        rows = [["label", "text", *(f"text{i}" for i in range(1, len(views) + 1))], *zip(texts, texts, *views)]  # noqa: B905
        csv.writer(stream).writerows(rows)
    return views_file(str(path))


def test_given_views_are_those_that_training_sees_and_the_result_names_the_file(topics, tmp_path, monkeypatch):
    texts, labels = topics
    data = Dataset("helpdesk", texts, np.asarray(labels), ["a", "b", "c"])
    file = write(tmp_path / "views.csv", texts, [texts[::-1], [f"{text} again" for text in texts]])
    seen = []
    original = runner.METHODS["sccl"].fit
    monkeypatch.setattr(
        runner.METHODS["sccl"], "fit", lambda self, x, **kw: (seen.append(kw["views"]), original(self, x, **kw))[1]
    )
    job = expand(["sccl"], ["helpdesk"], 1, "cpu", encoder="tfidf", overrides={"epochs": "1"}, views=file)[0]
    result, _ = run_job(job, data, tmp_path)
    assert seen == [[texts[::-1], [f"{text} again" for text in texts]]]
    assert result["views"] == {"file": "views.csv", "sha256": file.sha256}
    assert result["params"]["augmenter"] == "columns:text1,text2"
    assert job.is_in([result])
    assert not expand(["sccl"], ["helpdesk"], 1, "cpu", encoder="tfidf", overrides={"epochs": "1"})[0].is_in([result])


def test_views_of_another_data_set_are_refused(tmp_path):
    file = write(tmp_path / "views.csv", ["one", "two"], [["a", "b"]])
    with pytest.raises(InputError, match="does not belong"):
        file.views(["text1"], ["three", "four"])
    with pytest.raises(InputError, match="no column 'text2'"):
        file.views(["text2"], ["one", "two"])


def test_a_file_without_views_is_refused(tmp_path):
    with pytest.raises(InputError, match="text1"):
        write(tmp_path / "views.csv", ["one"], [])


def test_methods_without_views_ignore_the_file(tmp_path):
    file = write(tmp_path / "views.csv", ["one"], [["a"]])
    kmeans, sccl = expand(["kmeans", "sccl"], ["helpdesk"], 1, "cpu", views=file)
    assert (kmeans.views, sccl.views) == (None, file)
