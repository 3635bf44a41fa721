"""A saved model, and a copy of its folder that a test may alter."""

import shutil

import pytest

import coterie


@pytest.fixture(scope="session")
def saved(topics, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0]).save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")
