import pytest

from coterie.data.text_column import text_column
from coterie.errors import InputError

WORDY = ["a few words here", "and some more"]
CODES = ["x1", "x2"]


@pytest.mark.parametrize(
    ("columns", "name", "expected"),
    [
        ({"id": CODES, "note": WORDY, "text": WORDY}, "id", "id"),
        ({"id": CODES}, None, "id"),
        ({"id": CODES, "text": CODES}, None, "text"),
        ({"id": CODES, " Message ": CODES}, None, " Message "),
        ({"note": WORDY, "Query": CODES}, None, "Query"),
        ({"id": CODES, "note": WORDY, "n": [1, 2]}, None, "note"),
        ({"title": WORDY, "body": CODES}, None, "title"),
        ({"id": CODES, "note": [None, *WORDY]}, None, "note"),
    ],
    ids=["named", "single", "usual", "usual-any-case", "usual-over-wordy", "wordy", "wordy-of-usual", "holes"],
)
def test_the_only_plausible_column_is_found(columns, name, expected):
    assert text_column(columns, name) == expected


@pytest.mark.parametrize(
    "columns",
    [
        {"id": CODES, "code": CODES},
        {"note": WORDY, "remark": WORDY},
        {"title": WORDY, "body": WORDY},
        {"id": [1, 2], "n": [None, None]},
        {"id": [], "n": []},
    ],
    ids=["none-wordy", "two-wordy", "two-usual", "no-texts", "no-rows"],
)
def test_the_error_of_an_ambiguous_table_lists_the_columns(columns):
    first, second = columns
    with pytest.raises(InputError, match=f"Which column .*--column, in Python column=.: '{first}', '{second}'"):
        text_column(columns)


def test_the_error_of_a_missing_column_lists_the_columns():
    with pytest.raises(InputError, match=r"no column 'txt'. Did you mean 'text'\? The columns are: 'id', 'text'"):
        text_column({"id": CODES, "text": WORDY}, "txt")


@pytest.mark.parametrize("name", [None, "text"])
def test_a_table_without_columns_is_an_empty_file(name):
    with pytest.raises(InputError, match="The file is empty"):
        text_column({}, name)
