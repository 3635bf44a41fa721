import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.printable import listed, printable, printable_json, printable_lines, shorten

UNSAFE = ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\x9d", "\u202e", "\u2066", "\ufff9", "\U000e0041", "\udcff"]


@pytest.mark.parametrize("char", UNSAFE, ids=ascii)
def test_an_unsafe_character_is_shown_as_an_escape(char):
    escaped = ascii(char)[1:-1]
    assert printable(f"a{char}b") == f"a{escaped}b"
    assert printable_lines(f"a{char}b\n\tc") == f"a{escaped}b\n\tc"


@given(st.text(st.characters(), max_size=50))
def test_no_text_can_steer_a_terminal(text):
    for shown in (printable(text), printable_lines(text).replace("\n", "").replace("\t", "")):
        assert not any(unicodedata.category(char) in ("Cc", "Cs") or "\u202a" <= char <= "\u202e" for char in shown)
        shown.encode()  # has no half of a surrogate pair
    assert "\n" not in printable(text)


@pytest.mark.parametrize("text", ["naïve café", "日本語", "👩\u200d💻", "שלום\u200f", "नमस्\u200cते", "a  b"])
def test_texts_of_people_stay_as_they_are(text):
    assert printable(text) == printable_lines(text) == text


def test_line_ends_and_tabs_become_spaces():
    assert printable("one\r\ntwo\tthree\u2028four") == "one two three four"


def test_long_words_and_texts_are_cut_in_the_middle():
    assert printable("see " + "x" * 500 + " end", max_word=9) == "see xxxxx…xxx end"
    assert len(printable("word " * 10_000)) == 4_000
    assert printable("/start/" + "x" * 5_000 + "/end.csv").startswith("/start/xxx")
    assert printable("/start/" + "x" * 5_000 + "/end.csv").endswith("xxx/end.csv")
    assert shorten("abcdefghi", 9) == "abcdefghi"


@settings(deadline=None, max_examples=50)
@given(st.recursive(st.text(st.characters()), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_means_the_same_and_can_be_encoded(value):
    shown = printable_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(shown) == value
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown.encode().decode() if char != "\n")


def test_a_long_list_of_names_is_cut():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(range(30_000), 2) == "'0', '1' and 29,998 more"
    assert len(listed(["x" * 10**6])) < 100
