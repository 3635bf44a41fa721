"""WordNet and Debian: data sets of texts that are made from public packages."""

import hashlib
import lzma

import pytest

from coterie.datasets import DATASETS, load, wordnet
from coterie.datasets.debian import parse_descriptions, read_groups
from coterie.datasets.readers import sample_texts
from coterie.datasets.wordnet import parse_definitions
from coterie.errors import InputError

NOUNS = """  1 This software and database is being provided to you
00003553 03 n 02 whole 0 unit 0 000 | an assemblage of parts
02084071 05 n 01 dog 0 000 | a member of the genus Canis; "the dog barked all night"
07555863 13 n 01 food 0 000 | any solid substance; used as nourishment
"""
PACKAGES = """Package: 0ad
Description: Real-time strategy game
Tag: game::strategy, interface::graphical,
 Section: of a continued line
Section: games

Package: libfoo
Description: a library
Section: libs

Package: mutt
Section: mail
Description: text-based mailreader
"""


def test_definitions_of_wordnet_have_no_examples_and_the_most_general_nouns_are_left_out():
    assert parse_definitions(NOUNS) == [
        ("animal", "a member of the genus Canis"),
        ("food", "any solid substance; used as nourishment"),
    ]


def test_descriptions_of_debian_are_those_of_sections_with_a_subject():
    assert parse_descriptions(PACKAGES) == [("games", "Real-time strategy game"), ("mail", "text-based mailreader")]


def test_a_sample_has_distinct_texts_and_does_not_depend_on_the_order():
    rows = [("a", str(i % 7)) for i in range(20)]
    sample = sample_texts(rows, 5)
    assert len({text for _, text in sample}) == 5
    assert sample_texts(rows[::-1], 5) == sample


def test_without_the_package_wordnet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "FILE", tmp_path / "data.noun")
    assert not DATASETS["wordnet"].is_local
    with pytest.raises(InputError, match="apt-get install wordnet-base"):
        load("wordnet")


def test_another_version_of_wordnet_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "FILE", tmp_path / "data.noun")
    wordnet.FILE.write_text(NOUNS)
    with pytest.raises(InputError, match=r"data.noun is not that of wordnet-base 1:3.0-37"):
        load("wordnet-coarse")


@pytest.mark.parametrize(
    ("fine", "coarse", "digest"),
    [("wordnet", "wordnet-coarse", "b5b4e8c26ef6"), ("debian", "debian-coarse", "118aef64c152")],
)
def test_fine_and_coarse_classes_are_of_the_same_texts(fine, coarse, digest):
    if not DATASETS[fine].is_local:
        pytest.skip(f"the files of {fine} are not installed")
    first, second = load(fine), load(coarse)
    assert first.texts == second.texts
    assert hashlib.sha256("\n".join(first.texts).encode()).hexdigest()[:12] == digest
    for data, name in ((first, fine), (second, coarse)):
        assert (len(data.texts), len(data.label_names)) == (DATASETS[name].n_items, DATASETS[name].n_clusters)
    pairs = set(zip(first.true_labels.tolist(), second.true_labels.tolist(), strict=True))
    assert len(pairs) == len(first.label_names)  # each class is in one group


def test_groups_of_debian_are_read_from_the_compressed_list():
    assert {label for label, _ in read_groups(lzma.compress(PACKAGES.encode()))} == {"games", "internet"}
