"""Registries: classes by name, from the package and from entry points."""

import sys
from collections.abc import Mapping

import pytest

from coterie import clusterer
from coterie.clusterer import METHODS
from coterie.encoders.encoder import ENCODERS
from coterie.errors import InputError
from coterie.methods.kmeans import KMeans
from coterie.registry import Registry

TOOLS = "from coterie.registry import Registry\nTOOLS = Registry('tool', 'toolbox')\n"
TOOL = "from toolbox import TOOLS\nclass {0}: pass\nTOOLS.register('{1}', {0})\n"


def plug_in(folder, group, entry, source, name="gadgets"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path with a package ``toolbox`` of two tools; its modules are removed afterwards."""
    package = tmp_path / "site" / "toolbox"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TOOLS)
    (package / "hammer.py").write_text(TOOL.format("Hammer", "hammer"))
    (package / "screwdriver.py").write_text(TOOL.format("Screwdriver", "screwdriver"))
    monkeypatch.syspath_prepend(package.parent)
    before = set(sys.modules)
    yield package.parent
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("toolbox", "gadgets", "others"):
            del sys.modules[name]


@pytest.fixture
def tools(site):
    import toolbox

    return toolbox.TOOLS


def test_every_module_of_the_package_is_found(tools):
    assert isinstance(tools, Mapping)
    assert list(tools) == ["hammer", "screwdriver"]
    assert len(tools) == 2
    assert tools["hammer"].__name__ == "Hammer"


def test_membership(tools):
    assert "screwdriver" in tools
    assert "saw" not in tools


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("hamer", "There is no tool called 'hamer'. Did you mean 'hammer'? There are: hammer, screwdriver."),
        ("saw", "There is no tool called 'saw'. There are: hammer, screwdriver."),
        ("", "There is no tool called ''. There are: hammer, screwdriver."),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(tools, name, sentence):
    with pytest.raises(InputError) as refusal:
        tools[name]
    assert str(refusal.value) == sentence


def test_get_of_an_unknown_name_returns_the_default(tools):
    assert tools.get("hammer") is tools["hammer"]
    assert tools.get("saw") is None


def test_two_classes_with_one_name_are_refused(tools):
    taken = tools["hammer"]
    with pytest.raises(InputError, match=r"Two tools are called 'hammer'.*Hammer.*OtherHammer"):
        tools.register("hammer", type("OtherHammer", (), {}))
    assert tools["hammer"] is taken


def test_the_same_class_defined_again_replaces_the_first(tools):
    first = tools["hammer"]
    again = type("Hammer", (), {"__module__": first.__module__})
    tools.register("hammer", again)
    assert tools["hammer"] is again


def test_a_plug_in_is_found_by_its_entry_point(tmp_path, monkeypatch, tools):
    plug_in(tmp_path / "other", "toolbox", "saw = gadgets:Saw", TOOL.format("Saw", "saw"))
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert list(tools) == ["hammer", "saw", "screwdriver"]
    assert tools["saw"].__module__ == "gadgets"


def test_a_plug_in_of_another_group_is_not_loaded(tmp_path, monkeypatch, tools):
    plug_in(tmp_path / "other", "toolshed", "saw = gadgets:Saw", TOOL.format("Saw", "saw"))
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert list(tools) == ["hammer", "screwdriver"]
    assert "gadgets" not in sys.modules


def test_a_plug_in_with_a_name_that_exists_is_refused(tmp_path, monkeypatch, tools):
    plug_in(tmp_path / "other", "toolbox", "hammer = gadgets:Mallet", TOOL.format("Mallet", "hammer"))
    monkeypatch.syspath_prepend(tmp_path / "other")
    with pytest.raises(InputError, match="Two tools are called 'hammer'"):
        list(tools)


def test_a_broken_plug_in_is_an_error_at_every_lookup(tmp_path, monkeypatch, tools):
    plug_in(tmp_path / "other", "toolbox", "saw = gadgets:Saw", "import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path / "other")
    for _ in range(2):
        with pytest.raises(ImportError, match="a_module_that_is_not_there"):
            tools["saw"]


def test_plug_ins_are_loaded_at_the_first_lookup_only(tmp_path, monkeypatch, tools):
    assert len(tools) == 2
    plug_in(tmp_path / "other", "toolbox", "saw = gadgets:Saw", TOOL.format("Saw", "saw"))
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert len(tools) == 2
    assert "gadgets" not in sys.modules


def test_a_method_of_another_package_is_found(tmp_path, monkeypatch, site):
    source = (
        "from coterie.methods.kmeans import KMeans\n"
        "from coterie.hyper import hyper\n"
        "class Parrot(KMeans, name='parrot'):\n"
        "    beak: int = hyper(1, 'how many', ge=1)\n"
    )
    plug_in(tmp_path / "other", "coterie.methods", "parrot = others:Parrot", source, name="others")
    monkeypatch.syspath_prepend(tmp_path / "other")
    fresh = Registry("method", "coterie.methods")
    monkeypatch.setattr(clusterer, "METHODS", fresh)
    assert fresh["parrot"].__module__ == "others"
    assert fresh["parrot"](beak=2).beak == 2
    assert "parrot" not in METHODS


def test_the_methods_and_encoders_of_this_package_are_registered():
    assert METHODS["kmeans"] is KMeans
    assert {"bow", "bundled", "precomputed", "sif", "tfidf", "transformer"} <= set(ENCODERS)


@pytest.mark.parametrize(("wrong", "right"), [("k-means", "kmeans"), ("kmean", "kmeans")])
def test_a_misspelled_method_is_suggested(wrong, right):
    with pytest.raises(InputError, match=f"no method called '{wrong}'. Did you mean '{right}'?"):
        METHODS[wrong]
