"""A new method takes images without knowing it, or says in a sentence why not."""

import numpy as np
import pytest
from PIL import Image

import coterie
from coterie.clusterer import METHODS
from coterie.data.images import UnreadableImageWarning
from coterie.deep import DeepClusterer
from coterie.errors import InputError
from coterie.topical import TopicalClusterer

NEED_WORDS = {name for name, cls in METHODS.items() if issubclass(cls, TopicalClusterer)}
each_method = pytest.mark.parametrize("name", [name for name in METHODS if name not in NEED_WORDS])


def make(name, **settings):
    short = {"epochs": 1, "max_steps": 2, "batch_size": 20} if issubclass(METHODS[name], DeepClusterer) else {}
    return METHODS[name](n_clusters=3, encoder="image", **(short | settings))


@pytest.fixture(scope="module")
def images():
    """40 small images of three kinds: bars across, bars down, and a spot; the last is there twice."""
    rng = np.random.default_rng(0)
    across, spot = np.zeros((12, 12)), np.zeros((12, 12))
    across[::3], spot[4:8, 4:8] = 1, 1
    kinds = [across, across.T, spot]
    made = np.stack([kinds[i % 3] for i in range(40)]) * 200 + rng.integers(0, 50, (40, 12, 12))
    made[-1] = made[0]
    return made.astype(np.uint8)


@pytest.fixture(scope="module")
def fitted(images):
    cache = {}
    return lambda name: cache[name] if name in cache else cache.setdefault(name, make(name).fit(images))


@each_method
def test_every_image_has_a_cluster_and_equal_ones_the_same(name, fitted, images):
    model = fitted(name)
    assert model.labels_.shape == (40,)
    assert set(model.labels_) <= {0, 1, 2}
    assert model.labels_[-1] == model.labels_[0]
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@each_method
def test_a_saved_model_gives_the_same_answers(name, fitted, images, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(images), model.predict_proba(images))
    np.testing.assert_array_equal(loaded.transform(images[:5]), model.transform(images[:5]))


@each_method
def test_a_vector_does_not_depend_on_the_other_images(name, fitted, images):
    together = fitted(name).transform(images)
    np.testing.assert_array_equal(fitted(name).transform(images[::-1])[::-1], together)
    alone = np.concatenate([fitted(name).transform(images[i : i + 1]) for i in (0, 7)])
    np.testing.assert_array_equal(alone, together[[0, 7]])


@each_method
def test_same_seed_same_everything(name, fitted, images):
    again = make(name).fit(images)
    np.testing.assert_array_equal(again.labels_, fitted(name).labels_)
    np.testing.assert_array_equal(again.transform(images), fitted(name).transform(images))


@pytest.mark.parametrize("name", sorted(NEED_WORDS))
def test_a_method_of_words_says_that_images_have_none(name, images):
    with pytest.raises(InputError, match="explains clusters by words, and images have none"):
        make(name).fit(images)


def test_a_broken_file_keeps_its_place_without_a_cluster(images, tmp_path):
    for number, image in enumerate(images[:9]):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    (tmp_path / "3.png").write_bytes(b"no image")
    with pytest.warns(UnreadableImageWarning, match=r"1 of 9 images cannot be read.*3\.png"):
        model = make("kmeans").fit(tmp_path)
    assert model.labels_[3] == -1
    assert np.isnan(model.confidence_[3])
    assert (np.delete(model.labels_, 3) >= 0).all()
    assert model.labels_[0] == model.labels_[6] != model.labels_[1]


def test_new_images_are_brought_to_the_shape_of_the_training(images):
    model = make("kmeans").fit(images)
    larger = np.kron(images, np.ones((2, 2), dtype=np.uint8))[..., None].repeat(3, axis=3)
    assert model.transform(larger).shape == model.transform(images).shape
    assert (model.predict(larger) == model.labels_).mean() > 0.9


def test_a_killed_training_goes_on_and_ends_the_same(images, tmp_path):
    whole = make("sccl", epochs=2, max_steps=None).fit(images)
    path = tmp_path / "run.checkpoint"

    def stop(evaluation):
        if evaluation.record["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make("sccl", epochs=2, max_steps=None, checkpoint=path, checkpoint_every=1).fit(images, watch=stop)
    assert path.exists()
    again = make("sccl", epochs=2, max_steps=None, checkpoint=path, checkpoint_every=1).fit(images)
    np.testing.assert_array_equal(again.transform(images), whole.transform(images))


def test_first_groups_are_of_pixels_and_their_means_of_what_the_network_sees():
    noise = np.random.default_rng(0).integers(0, 256, (40, 12, 12), dtype=np.uint8)  # the network groups it otherwise
    model = make("sccl", epochs=0, init="kmeans").fit(noise)
    groups, h = make("kmeans").fit(noise).labels_, model.transform(noise)
    means = np.stack([h[groups == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.objective_.mu.detach(), means, atol=1e-6)


@pytest.mark.parametrize("augmenter", ["eda", "chars", "chain(chars,delete)"])
def test_an_augmenter_of_texts_is_refused(images, augmenter):
    with pytest.raises(InputError, match=r"changes texts, but the encoder 'image' reads images\. Use one of: crop"):
        make("sccl", augmenter=augmenter).fit(images)


def test_an_augmenter_of_images_is_refused_for_texts(topics):
    with pytest.raises(InputError, match="'crop' changes images, but the encoder 'tfidf' reads texts"):
        coterie.SCCL(n_clusters=3, encoder="tfidf", augmenter="crop").fit(topics[0])


def test_views_of_ones_own_are_texts(images):
    with pytest.raises(InputError, match="Views are texts"):
        make("sccl").fit(images, views=[list("ab"), list("ab")])


def test_texts_are_no_images_and_images_no_texts(images, topics):
    with pytest.raises(InputError, match="None of the 90 images can be read"):
        make("kmeans").fit(topics[0])
    with pytest.raises(InputError, match="Expected one text a row, got an array of shape"):
        coterie.KMeans(n_clusters=3, encoder="tfidf").fit(images)


def test_too_few_images_are_counted_in_images():
    with pytest.raises(InputError, match=r"3 clusters need at least 3 distinct images, but there are 1 \(of 4 rows"):
        make("kmeans").fit(np.zeros((4, 8, 8), dtype=np.uint8))
