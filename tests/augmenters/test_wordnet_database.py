import pytest

from coterie.augmenters import wordnet_database
from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.wordnet_database import WordNet, find_wordnet
from coterie.errors import InputError
from tiny import write_wordnet

DEBIAN_FOLDER = "/usr/share/wordnet"


def test_synonyms_are_of_all_parts_of_speech_most_frequent_meaning_first(tmp_path):
    sets = {"noun": [["query", "question"], ["query", "doubt"]], "verb": [["query", "ask_about"]]}
    assert WordNet(write_wordnet(tmp_path, sets)).synonyms("Query") == ("question", "doubt", "ask about")


def test_synonyms_of_inflected_words(tmp_path):
    synsets = {"noun": [["query", "question"]], "verb": [["use", "apply"]], "adj": [["big", "large"]]}
    wordnet = WordNet(write_wordnet(tmp_path, synsets))
    assert wordnet.synonyms("queries") == ("question",)
    assert wordnet.synonyms("using") == wordnet.synonyms("used") == ("apply",)
    assert wordnet.synonyms("bigger") == ()  # the rules do not remove the second g; the file adj.exc would
    assert wordnet.synonyms("unknown") == ()


def test_position_markers_of_adjectives_are_removed(tmp_path):
    assert WordNet(write_wordnet(tmp_path, {"adj": [["broken(p)", "kaput(ip)"]]})).synonyms("broken") == ("kaput",)


def test_missing_files_are_explained(monkeypatch, tmp_path):
    monkeypatch.delenv("COTERIE_WORDNET")
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(wordnet_database, "_USUAL_FOLDERS", (str(tmp_path / "nowhere"),))
    with pytest.raises(InputError, match=r"nowhere.*apt-get install wordnet-base.*COTERIE_WORDNET"):
        make_augmenter("wordnet").views(["a"], 1, seed=0)
    with pytest.raises(InputError, match="'eda' needs the WordNet files"):
        make_augmenter("eda").views(["a"], 1, seed=0)
    assert make_augmenter("eda(operation=swap)").views(["a b"], 1, seed=0) == (["b a"],)  # needs no WordNet


def test_only_the_given_folder_is_searched(tmp_path):
    with pytest.raises(InputError, match=f"not in {tmp_path}"):
        find_wordnet(str(tmp_path), needed_by="This")


def test_files_of_different_versions_are_refused(tmp_path):
    write_wordnet(tmp_path, {"noun": [["query", "question"]]})
    (tmp_path / "data.noun").write_bytes(b"a shorter license\n" + (tmp_path / "data.noun").read_bytes()[60:])
    with pytest.raises(InputError, match="not from the same version"):
        WordNet(tmp_path).synonyms("query")


def test_the_hash_depends_on_the_files(tmp_path):
    first = write_wordnet(tmp_path / "1", {"noun": [["query", "question"]]})
    second = write_wordnet(tmp_path / "2", {"noun": [["query", "doubts"]]})
    assert WordNet(first).sha256 != WordNet(second).sha256


def test_the_real_wordnet():
    try:
        wordnet = find_wordnet(DEBIAN_FOLDER, needed_by="This test")
    except InputError:
        pytest.skip(f"WordNet is not installed in {DEBIAN_FOLDER}")
    assert "car" in wordnet.synonyms("automobiles")
    assert "rodent" not in wordnet.synonyms("mice")
    assert wordnet.synonyms("qwertyuiop") == ()
