import pytest
from tiny import write_wordnet

from coterie.augmenters import wordnet_files
from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.wordnet_files import WordNet, find_wordnet
from coterie.errors import InputError

REAL = "/usr/share/wordnet"


def test_synonyms_come_from_every_class_the_most_usual_meaning_first(tmp_path):
    sets = {"noun": [["query", "question"], ["query", "doubt"]], "verb": [["query", "ask_about"]]}
    assert WordNet(write_wordnet(tmp_path, sets)).synonyms("Query") == ("question", "doubt", "ask about")


def test_inflections_are_followed_and_are_no_synonyms(tmp_path):
    files = write_wordnet(
        tmp_path, {"noun": [["query", "question"]], "verb": [["use", "apply"]], "adj": [["big", "large"]]}
    )
    known = WordNet(files)
    assert known.synonyms("queries") == ("question",)
    assert known.synonyms("using") == known.synonyms("used") == ("apply",)
    assert known.synonyms("bigger") == ()  # WordNet's rules do not halve the g; adj.exc would say it
    assert known.synonyms("unknown") == ()


def test_marks_of_adjectives_are_dropped(tmp_path):
    assert WordNet(write_wordnet(tmp_path, {"adj": [["broken(p)", "kaput(ip)"]]})).synonyms("broken") == ("kaput",)


def test_missing_files_are_said_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("COTERIE_WORDNET")
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(wordnet_files, "_PLACES", (str(tmp_path / "nowhere"),))
    with pytest.raises(InputError, match=r"nowhere.*apt-get install wordnet-base.*COTERIE_WORDNET"):
        make_augmenter("wordnet").views(["a"], 1, seed=0)
    with pytest.raises(InputError, match="'eda' needs the files of WordNet"):
        make_augmenter("eda").views(["a"], 1, seed=0)
    assert make_augmenter("eda(operation=swap)").views(["a b"], 1, seed=0) == (["b a"],)  # needs none


def test_a_folder_that_is_named_is_the_only_one_looked_at(tmp_path):
    with pytest.raises(InputError, match=f"not in {tmp_path}"):
        find_wordnet(str(tmp_path), need="This")


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write_wordnet(tmp_path, {"noun": [["query", "question"]]})
    (tmp_path / "data.noun").write_bytes(b"a shorter licence\n" + (tmp_path / "data.noun").read_bytes()[60:])
    with pytest.raises(InputError, match="do not belong together"):
        WordNet(tmp_path).synonyms("query")


def test_other_files_are_another_identity(tmp_path):
    first = write_wordnet(tmp_path / "1", {"noun": [["query", "question"]]})
    second = write_wordnet(tmp_path / "2", {"noun": [["query", "doubts"]]})
    assert WordNet(first).fingerprint != WordNet(second).fingerprint


def test_the_real_wordnet_is_read(monkeypatch):
    try:
        known = find_wordnet(REAL, need="This test")
    except InputError:
        pytest.skip(f"WordNet is not installed in {REAL}")
    assert "car" in known.synonyms("automobiles")
    assert "rodent" not in known.synonyms("mice")
    assert known.synonyms("qwertyuiop") == ()
