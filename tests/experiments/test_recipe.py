import pytest

from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.encoders.encoder import make_encoder
from coterie.errors import InputError
from coterie.experiments.jobs import PAPER_SETS, expand
from coterie.experiments.recipe import methods, parse_recipe, published, read_recipe, recipe_for, recipe_names, variants

TEXT_SETS = [name for name, entry in DATASETS.items() if entry.input_type == "texts"]
IMAGE_SETS = [name for name, entry in DATASETS.items() if entry.input_type == "images"]
FILES = [(method, name) for method in methods() for name in recipe_names(method)]


@pytest.mark.parametrize(("method", "name"), FILES, ids=lambda part: part)
def test_every_recipe_is_valid(method, name):
    recipe = read_recipe(method, name)
    METHODS[method](**recipe.settings)
    assert recipe.encoder or name not in ("default", "cpu")


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("preset", ["paper", "cpu"])
def test_every_preset_covers_every_data_set(method, preset):
    for dataset in TEXT_SETS:
        recipe = recipe_for(method, dataset, preset)
        below = make_encoder(recipe.encoder_settings["inner"]).params() if recipe.encoder == "umap" else {}
        assert recipe.encoder in ("bundled", "umap", "sif", "cnn")
        assert recipe.encoder == "sif" or (recipe.encoder_settings | below)["max_length"] == 32
    assert {recipe_for(method, dataset, preset).encoder for dataset in IMAGE_SETS} == {"image"}


@pytest.mark.parametrize("method", methods())
def test_the_preset_cpu_has_the_same_settings_for_every_data_set(method):
    for sets in (TEXT_SETS, IMAGE_SETS):
        first, *others = [recipe_for(method, dataset, "cpu") for dataset in sets]
        assert all(other == first for other in others)


def test_settings_for_images_change_both_presets_and_are_not_a_variant():
    on_texts = recipe_for("sccl", "agnews", "cpu").settings
    on_images = recipe_for("sccl", "digits", "cpu").settings
    assert "encoder_lr" not in on_texts
    assert on_images["encoder_lr"] == read_recipe("sccl", "images").settings["encoder_lr"]
    assert "images" not in variants("sccl")


def test_cpu_settings_for_images_do_not_change_the_preset_paper():
    cpu = recipe_for("tcc", "digits", "cpu")
    paper = recipe_for("tcc", "digits", "paper")
    assert (cpu.settings["head_init"], paper.settings["head_init"]) == ("centers", "random")
    assert (cpu.settings["epochs"], paper.settings["epochs"]) == (100, 1000)
    assert cpu.encoder_settings == {"width": 16}
    assert cpu.settings["batch_size"] == paper.settings["batch_size"] == 256
    assert "cpu-images" not in variants("tcc")


def test_a_job_on_images_records_the_augmenter_that_is_used():
    (job,) = expand(["sccl"], ["digits"], 1, "cpu")
    assert (job.encoder, job.params["augmenter"]) == ("image", "crop")
    (job,) = expand(["sccl"], ["digits"], 1, "cpu", overrides={"augmenter": "crop(flip=0)"})
    assert job.params["augmenter"] == "crop(flip=0)"
    (job,) = expand(["sccl"], ["agnews"], 1, "cpu")
    assert (job.encoder, job.params["augmenter"]) == ("bundled", "dropout")


def test_sccl_has_the_settings_and_scores_of_its_paper():
    settings = recipe_for("sccl", "agnews", "paper").settings
    assert settings["trainable_layers"] is None
    assert (settings["encoder_lr"], settings["head_lr"], settings["max_steps"]) == (5e-6, 5e-4, 3000)
    assert settings["degrees_of_freedom"] == 1
    assert recipe_for("sccl", "biomedical", "paper").settings["degrees_of_freedom"] == 10
    assert all(published("sccl", dataset).source == "SCCL, Table 1" for dataset in PAPER_SETS)
    assert (published("sccl", "tweet").acc, published("sccl", "tweet").nmi) == (78.2, 89.2)
    assert published("sccl", "helpdesk") is None


def test_a_variant_has_published_scores_and_an_encoder_of_its_own():
    (job,) = expand(["kmeans"], ["agnews"], 1, "paper", variant="tfidf-2000")
    assert (job.encoder, job.encoder_params) == ("tfidf", {"max_features": 2000, "stop_words": True})
    assert (job.params["n_init"], job.variant) == (10, "tfidf-2000")
    assert (published("kmeans", "tweet", "bow").acc, published("kmeans", "tweet", "tfidf").acc) == (49.7, 57.0)
    assert published("kmeans", "tweet") is None
    assert published("sccl", "tweet", "official-code") == published("sccl", "tweet")


@pytest.mark.parametrize("method", ["aecl", "clusterbert", "deccrl", "rstc", "sccl", "tcc", "tsdae"])
def test_the_papers_train_on_embeddings_that_are_not_normalized(method):
    recipe = recipe_for(method, "agnews", "paper")
    assert (recipe.encoder_settings["normalize"], recipe.encoder_settings["max_length"]) == (False, 32)
    assert recipe.settings.get("scale", 1) == 1
    job = expand([method], ["agnews"], 1, "paper", encoder="transformer(pooling=cls,max_length=128):folder")[0]
    chosen = {"model": "folder", "pooling": "cls", "max_length": 128}
    assert job.encoder_params.items() >= (chosen | {"normalize": False, "precision": "float32"}).items()
    images = recipe_for(method, "digits", "paper").settings if method != "deccrl" else {}
    assert images.get("scale", 6) in (6, 20)  # embeddings of images have unit length


def test_a_variant_changes_the_preset_and_may_change_single_data_sets():
    settings = recipe_for("sccl", "stackoverflow", "paper", "official-code").settings
    assert (settings["implementation"], settings["head_lr"], settings["temperature"]) == ("official", 1e-3, 0.5)
    assert settings["degrees_of_freedom"] == 10
    assert recipe_for("sccl", "tweet", "paper", "official-code").settings["degrees_of_freedom"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"setup": {}}, "R has an unknown key 'setup'"),
        ({"settings": {"speed": 3}}, r"R: \[settings\] speed: no such setting. There are: "),
        ({"settings": {"epochs": "many"}}, r"R: \[settings\] epochs=many: must be a whole number"),
        ({"settings": {"epochs": -1}}, r"R: \[settings\] epochs=-1: must be a whole number and >= 0"),
        ({"settings": {"epochs": "none"}}, r"R: \[settings\] epochs=none: must be"),
        ({"settings": {"n_clusters": 3}}, r"R: \[settings\] n_clusters: a recipe or --set cannot change this setting"),
        ({"settings": 3}, r"R: \[settings\] must be a table"),
        ({"sets": {"mars": {}}}, r"R: \[sets.mars\] is not a data set"),
        ({"encoder": {"max_length": 32}}, r"R: \[encoder\] name must be one of"),
        ({"encoder": {"name": "bow", "max_length": 32}}, r"R: \[encoder\] max_length: no such setting"),
        ({"published": {"acc": 80.0}}, r"R: \[published\] must have acc and nmi in percent"),
        ({"published": {"acc": 80.0, "nmi": "high", "source": "here"}}, r"R: \[published\] must have"),
        ({"published": {"source": "here"}}, r"R: \[published\] must have"),
        ({"published": {"tweet": [80.0, 70.0]}}, r"R: \[published\] must have"),
        ({"published": {"source": "here", "mars": [80.0, 70.0]}}, r"R: \[published\] must have"),
        ({"published": {"source": "here", "tweet": [80.0, 700.0]}}, r"R: \[published\] must have"),
        ({"unspecified": "much"}, "R: unspecified must be a list of sentences"),
    ],
)
def test_an_invalid_recipe_raises_an_input_error_with_the_key(content, message):
    with pytest.raises(InputError, match=message):
        parse_recipe(content, "sccl", "R")


def test_the_paper_preset_of_tcc_has_plain_features_on_images_too():
    job = expand(["tcc"], ["digits"], 1, "paper")[0]
    assert (job.params["similarity"], job.encoder_params["normalize"]) == ("dot", False)
    assert expand(["tcc"], ["digits"], 1, "cpu")[0].encoder_params["normalize"]


def test_no_pg_of_aecl_uses_no_pseudo_labels_for_the_positives_either():
    params = expand(["aecl"], ["tweet"], 1, "cpu", variant="no-pg")[0].params
    assert (params["pseudo_label_weight"], params["positives_by"]) == (0, "head")


def test_the_paper_preset_runs_without_wordnet_and_records_its_views(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_WORDNET", str(tmp_path))  # no files there
    assert expand(["aecl"], ["tweet"], 1, "paper")[0].params["augmenter"] == "eda(operation=plain)"
    overridden = expand(["aecl"], ["tweet"], 1, "paper", overrides={"augmenter": "eda"})[0]
    assert overridden.params["augmenter"] == "eda"


def test_a_grid_lists_values_and_an_override_replaces_them():
    content = {"grid": {"temperature": [0.1, "0.5"]}}
    assert parse_recipe(content, "sccl", "x").grid == {"temperature": (0.1, 0.5)}
    jobs = expand(["sccl"], ["tweet"], 1, "cpu", variant="temperature")
    assert [job.params["temperature"] for job in jobs] == [0.1, 0.2, 0.5, 1.0]
    (job,) = expand(["sccl"], ["tweet"], 1, "cpu", variant="temperature", overrides={"temperature": "0.3"})
    assert job.params["temperature"] == 0.3
    for wrong in ({"temperature": 0.1}, {"temperature": []}):
        with pytest.raises(InputError, match=r"\[grid\] temperature must be a list"):
            parse_recipe({"grid": wrong}, "sccl", "x")
    with pytest.raises(InputError, match=r"\[grid\] temperature=0: must be"):
        parse_recipe({"grid": {"temperature": [0]}}, "sccl", "x")
