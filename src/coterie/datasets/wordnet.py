"""WordNet 3.0: definitions of nouns by lexicographer file, and the same definitions in eight broad groups.

They are read from the Debian package ``wordnet-base`` (1:3.0-37). Each text is the definition of a synset, without its
examples. A fixed sample is taken by a hash of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.download import sha256
from coterie.datasets.readers import LabeledTexts, sample_texts
from coterie.errors import InputError

FILE = Path("/usr/share/wordnet/data.noun")
_SHA256 = "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2"
_INSTALL = "apt-get install wordnet-base"
_SAMPLE = 6000

# Lexicographer files 4 to 28, from the manual page lexnames(5WN). File 3 has the 51 most general nouns only.
_NAMES = (
    "act", "animal", "artifact", "attribute", "body", "cognition", "communication", "event", "feeling", "food",
    "group", "location", "motive", "object", "person", "phenomenon", "plant", "possession", "process", "quantity",
    "relation", "shape", "state", "substance", "time",
)  # fmt: skip
LEXICOGRAPHER_FILES = dict(enumerate(_NAMES, start=4))

_GROUPS = {
    "organisms": ("animal", "plant"),
    "people": ("person", "group"),
    "artifacts": ("artifact",),
    "matter": ("body", "food", "substance"),
    "places": ("location", "object"),
    "mind": ("cognition", "communication", "feeling", "motive"),
    "events": ("act", "event", "phenomenon", "process"),
    "properties": ("attribute", "possession", "quantity", "relation", "shape", "state", "time"),
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names}


@dataclass(frozen=True, kw_only=True, repr=False)
class WordNetEntry(TextEntry):
    """A data set of texts that is read from an installed package."""

    @property
    def is_local(self) -> bool:
        """Whether the package is installed."""
        return FILE.is_file()


def read_definitions() -> LabeledTexts:
    """Return a sample of the definitions with the name of their lexicographer file."""
    if not FILE.is_file():
        raise InputError(f"There is no {FILE}. The data sets of WordNet need a Debian package: {_INSTALL}")
    data = FILE.read_bytes()
    if (found := sha256(data)) != _SHA256:
        raise InputError(
            f"{FILE} is not that of wordnet-base 1:3.0-37 (SHA-256 {found[:12]}..., expected {_SHA256[:12]}...), so "
            "results would not be comparable."
        )
    return sample_texts(parse_definitions(data.decode("ascii")), _SAMPLE)


def parse_definitions(data: str) -> LabeledTexts:
    """Return the definitions in a file in the format wndb(5WN); lines that begin with a space are its license."""
    rows = []
    for line in data.splitlines():
        if line.startswith(" "):
            continue
        fields, _, gloss = line.partition("|")
        name = LEXICOGRAPHER_FILES.get(int(fields.split()[1]))
        definition = gloss.partition('; "')[0].strip()
        if name and definition:
            rows.append((name, definition))
    return rows


def read_groups() -> LabeledTexts:
    """Return the same sample with the broad group of each lexicographer file."""
    return [(_GROUP_OF[name], text) for name, text in read_definitions()]


DATASETS.register(
    WordNetEntry(
        name="wordnet",
        title="WordNet 3.0, definitions of nouns by lexicographer file",
        terms="WordNet 3.0 license; Debian package wordnet-base",
        n_items=_SAMPLE,
        n_clusters=len(_NAMES),
        order=74,
        read=read_definitions,
    )
)
DATASETS.register(
    WordNetEntry(
        name="wordnet-coarse",
        title="WordNet 3.0, the same definitions in eight groups",
        terms="WordNet 3.0 license; Debian package wordnet-base",
        n_items=_SAMPLE,
        n_clusters=len(_GROUPS),
        order=75,
        read=read_groups,
    )
)
