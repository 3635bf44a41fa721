import pytest

from coterie.benchmarks.jobs import PAPER_SETS, expand
from coterie.benchmarks.recipes import methods, parse_recipe, published, read_recipe, recipe_for, recipe_names, variants
from coterie.clusterer import METHODS
from coterie.data.datasets import SOURCES
from coterie.errors import InputError

TEXT_SETS = [name for name, source in SOURCES.items() if source.kind == "texts"]
IMAGE_SETS = [name for name in SOURCES if name not in TEXT_SETS]
FILES = [(method, name) for method in methods() for name in recipe_names(method)]


@pytest.mark.parametrize(("method", "name"), FILES, ids=lambda part: part)
def test_every_recipe_is_right_and_gives_a_model_that_can_be_made(method, name):
    recipe = read_recipe(method, name)
    METHODS[method](**recipe.settings)
    assert name in ("default", "cpu", "images", "cpu-images") or name in SOURCES or name in variants(method)
    assert recipe.encoder or name not in ("default", "cpu")


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("preset", ["paper", "cpu"])
def test_every_method_with_recipes_has_both_presets_for_every_set(method, preset):
    for dataset in TEXT_SETS:
        recipe = recipe_for(method, dataset, preset)
        assert (recipe.encoder, recipe.encoder_settings["max_length"]) == ("bundled", 32)
    assert {recipe_for(method, dataset, preset).encoder for dataset in IMAGE_SETS} == {"image"}


@pytest.mark.parametrize("method", methods())
def test_the_cpu_preset_is_one_setting_for_all_sets(method):
    for sets in (TEXT_SETS, IMAGE_SETS):
        first, *others = [recipe_for(method, dataset, "cpu") for dataset in sets]
        assert all(other == first for other in others)


def test_what_is_said_of_images_lies_over_the_base_and_is_no_variant():
    texts, images = (recipe_for("sccl", dataset, "cpu").settings for dataset in ("agnews", "digits"))
    assert "encoder_lr" not in texts
    assert images["encoder_lr"] == read_recipe("sccl", "images").settings["encoder_lr"]
    assert "images" not in variants("sccl")


def test_our_setting_for_images_does_not_touch_the_papers():
    ours, papers = (recipe_for("tcc", "digits", preset) for preset in ("cpu", "paper"))
    assert (ours.settings["prototypes"], papers.settings["prototypes"]) == ("groups", "random")
    assert (ours.settings["epochs"], papers.settings["epochs"]) == (100, 1000)
    assert ours.encoder_settings == {"width": 16}
    assert ours.settings["batch_size"] == papers.settings["batch_size"] == 256
    assert "cpu-images" not in variants("tcc")


def test_a_job_on_images_says_what_makes_its_views():
    (job,) = expand(["sccl"], ["digits"], 1, "cpu")
    assert (job.encoder, job.params["augmenter"]) == ("image", "crop")
    (job,) = expand(["sccl"], ["digits"], 1, "cpu", overrides={"augmenter": "crop(flip=0)"})
    assert job.params["augmenter"] == "crop(flip=0)"
    (job,) = expand(["sccl"], ["agnews"], 1, "cpu")
    assert (job.encoder, job.params["augmenter"]) == ("bundled", "dropout")


def test_sccl_follows_its_paper_and_its_table():
    settings = recipe_for("sccl", "agnews", "paper").settings
    assert settings["trainable_layers"] is None
    assert (settings["encoder_lr"], settings["head_lr"], settings["max_steps"]) == (5e-6, 5e-4, 3000)
    assert settings["degrees_of_freedom"] == 1
    assert recipe_for("sccl", "biomedical", "paper").settings["degrees_of_freedom"] == 10
    assert all(published("sccl", dataset).source == "SCCL, Table 1" for dataset in PAPER_SETS)
    assert (published("sccl", "tweet").acc, published("sccl", "tweet").nmi) == (78.2, 89.2)
    assert published("sccl", "helpdesk") is None


def test_a_variant_lies_over_the_paper_and_may_single_out_a_set():
    settings = recipe_for("sccl", "stackoverflow", "paper", "official-code").settings
    assert (settings["variant"], settings["head_lr"], settings["temperature"]) == ("code", 1e-3, 0.5)
    assert settings["degrees_of_freedom"] == 10
    assert recipe_for("sccl", "tweet", "paper", "official-code").settings["degrees_of_freedom"] == 1


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"setup": {}}, "R has 'setup', which means nothing here"),
        ({"settings": {"speed": 3}}, r"R: \[settings\] speed: there are the settings epochs"),
        ({"settings": {"epochs": "many"}}, r"R: \[settings\] epochs=many: must be a whole number"),
        ({"settings": {"epochs": -1}}, r"R: \[settings\] epochs=-1: must be a whole number and >= 0"),
        ({"settings": {"epochs": "none"}}, r"R: \[settings\] epochs=none: must be"),
        ({"settings": {"n_clusters": 3}}, r"R: \[settings\] n_clusters: the benchmark decides this itself"),
        ({"settings": 3}, r"R: \[settings\] must be a table"),
        ({"sets": {"mars": {}}}, r"R: \[sets.mars\] is no data set"),
        ({"encoder": {"max_length": 32}}, r"R: \[encoder\] name must be one of"),
        ({"encoder": {"name": "bow", "max_length": 32}}, r"R: \[encoder\] max_length: there are the settings"),
        ({"published": {"acc": 80.0}}, r"R: \[published\] must have acc and nmi in percent"),
        ({"published": {"acc": 80.0, "nmi": "high", "source": "here"}}, r"R: \[published\] must have"),
        ({"unsaid": "much"}, "R: unsaid must be a list of sentences"),
    ],
)
def test_a_mistake_in_a_recipe_is_named(told, message):
    with pytest.raises(InputError, match=message):
        parse_recipe(told, "sccl", "R")
