import pytest

from tiny import small_wordnet


@pytest.fixture(scope="session")
def wordnet_folder(tmp_path_factory):
    return small_wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture(autouse=True)
def _isolated_environment(wordnet_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_WORDNET", str(wordnet_folder))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
