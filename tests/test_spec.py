"""The spec parser serves augmenters and encoders."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from coterie.augmenters.augmenter import AUGMENTERS
from coterie.encoders.encoder import ENCODERS
from coterie.encoders.joined import JoinedEncoder
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError
from coterie.hyper import hyper
from coterie.spec import format_spec, parse, split


@dataclass(kw_only=True)
class Blur:
    name: ClassVar[str] = "blur"
    main_setting: ClassVar[str] = "radius"
    radius: float = hyper(1.5, "in pixels", gt=0)
    mode: Literal["box", "gauss"] = hyper("box", "kernel")
    source: str = hyper("", "folder or hub id")
    edges: bool = hyper(False, "blur the edges too")
    limit: int | None = hyper(None, "most pixels")


@dataclass(kw_only=True)
class Sequential:
    name: ClassVar[str] = "sequential"
    main_setting: ClassVar[str] = "steps"
    list_setting: ClassVar[str] = "steps"
    steps: str = hyper("blur", "in order")


@dataclass(kw_only=True)
class Identity:
    name: ClassVar[str] = "identity"
    main_setting: ClassVar[str] = ""


CLASSES = {"blur": Blur, "sequential": Sequential, "identity": Identity}


@pytest.mark.parametrize(
    ("spec", "name", "values"),
    [
        ("identity", "identity", {}),
        (" blur ", "blur", {}),
        ("blur:2", "blur", {"radius": 2.0}),
        ("blur : 2 ", "blur", {"radius": 2.0}),
        ("blur( mode = gauss , radius=0.5 )", "blur", {"mode": "gauss", "radius": 0.5}),
        ("blur(edges=true,limit=none)", "blur", {"edges": True, "limit": None}),
        ("blur(source=C:/models/a(b,c),limit=3)", "blur", {"source": "C:/models/a(b,c)", "limit": 3}),
        ("sequential(blur:2,blur(mode=box,limit=3))", "sequential", {"steps": "blur:2,blur(mode=box,limit=3)"}),
        ("sequential:blur,identity", "sequential", {"steps": "blur,identity"}),
        ("blur(mode=gauss, edges=no):0.5", "blur", {"mode": "gauss", "edges": False, "radius": 0.5}),
        ("blur(source=a(b):c) : 2", "blur", {"source": "a(b):c", "radius": 2.0}),
    ],
)
def test_parse_returns_name_and_typed_values(spec, name, values):
    parsed_name, parsed = parse(spec, CLASSES)
    assert (parsed_name, parsed) == (name, values)
    assert [type(parsed[key]) for key in values] == [type(value) for value in values.values()]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("identity:2", "The encoder 'identity' takes nothing after a colon, got 'identity:2'"),
        ("blur:", "nothing follows the colon"),
        ("blur:wide", "`radius` must be a number and > 0, got 'wide'"),
        ("blur(mode=round)", "`mode` must be one of 'box', 'gauss', got 'round'"),
        ("blur(speed=3)", "'speed=3' is not a setting. The encoder 'blur' has the settings radius, mode, source"),
        ("blur(2)", "'2' is not a setting"),
        ("identity(a=1)", r"'a=1' is not a setting. The encoder 'identity' has the settings \(none\)"),
        ("blur(radius=2", "the bracket after 'blur' is not closed"),
        ("blur(radius=2,)", "brackets do not match"),
        ("blur()", "brackets do not match"),
        ("blur(source=a(b)", "brackets do not match"),
        ("blur(mode=box):", "nothing follows the colon"),
        ("blur(radius=2):3", "sets `radius` twice, in the brackets and after the colon"),
        ("blur(mode=box)2", "the bracket after 'blur' is not closed"),
    ],
)
def test_parse_explains_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec, CLASSES, kind="encoder")


def test_messages_name_the_kind():
    with pytest.raises(InputError, match="The augmenter 'dropout' takes nothing after a colon"):
        parse("dropout:1", AUGMENTERS)
    with pytest.raises(InputError, match="The encoder 'bundled' has the settings"):
        parse("bundled(size=3)", ENCODERS, kind="encoder")
    with pytest.raises(InputError, match=r"no encoder called 'bundle'\. Did you mean 'bundled'"):
        parse("bundle", ENCODERS, kind="encoder")


def test_parse_reads_encoders():
    assert parse("transformer:org/model", ENCODERS, kind="encoder") == ("transformer", {"model": "org/model"})
    assert parse("bundled(max_length=64,normalize=no)", ENCODERS, kind="encoder") == (
        "bundled",
        {"max_length": 64, "normalize": False},
    )
    assert parse("transformer(pooling=cls, normalize=false):/a (1),b", ENCODERS, kind="encoder") == (
        "transformer",
        {"pooling": "cls", "normalize": False, "model": "/a (1),b"},
    )


def test_split_ignores_commas_in_inner_brackets():
    assert split("a(x=1,y=b(2,3)), c", "spec") == ["a(x=1,y=b(2,3))", "c"]


@pytest.mark.parametrize("text", ["a(b", "a)b(", "a,,b", "", ","])
def test_split_refuses_what_does_not_match(text):
    with pytest.raises(InputError, match="'the spec': brackets do not match"):
        split(text, "the spec")


@pytest.mark.parametrize(
    ("owner", "spec"),
    [
        (Identity(), "identity"),
        (Blur(), "blur"),
        (Blur(radius=2.0), "blur:2.0"),
        (Blur(edges=True), "blur(edges=True)"),
        (Blur(radius=2.0, limit=5), "blur(radius=2.0,limit=5)"),
        (Sequential(steps="blur:2,identity"), "sequential(blur:2,identity)"),
    ],
)
def test_format_spec_is_short_and_parses_back(owner, spec):
    assert format_spec(owner) == spec
    name, values = parse(spec, CLASSES)
    assert CLASSES[name](**values) == owner


@pytest.mark.parametrize("folder", ["/a", "/a,b", "/a(1", "/c+tfidf", "/a=b:c"])
def test_the_spec_of_an_encoder_of_any_folder_parses_back(folder):
    for encoder in (TransformerEncoder(model=folder), TransformerEncoder(model=folder, pooling="cls")):
        name, values = parse(format_spec(encoder), ENCODERS, kind="encoder")
        assert ENCODERS[name](**values).params() == encoder.params()
        if folder != "/a(1":  # refused by joined encoders
            joined = JoinedEncoder(encoders=[encoder, "bow"])
            assert JoinedEncoder(**joined.params()).parts[0].params() == encoder.params()
