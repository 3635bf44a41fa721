"""What every method guarantees on images. A method that needs words refuses images."""

import numpy as np
import pytest
from PIL import Image
from short_training import short

import coterie
from coterie.clusterer import METHODS
from coterie.errors import InputError, TrainingStopped, UnreadableImageWarning
from coterie.topic_clusterer import TopicClusterer

NEED_WORDS = {name for name, cls in METHODS.items() if issubclass(cls, TopicClusterer)}
each_method = pytest.mark.parametrize("name", [name for name in METHODS if name not in NEED_WORDS])


def make(name, **settings):
    """Return an unfitted model of a method; one that trains does so for three steps."""
    return short(METHODS[name], encoder="image(width=8)", **settings)


@pytest.fixture(scope="module")
def images():
    """40 small images of three kinds: horizontal bars, vertical bars, a square. The last one equals the first."""
    rng = np.random.default_rng(0)
    bars = np.zeros((12, 12))
    bars[::3] = 1
    square = np.zeros((12, 12))
    square[4:8, 4:8] = 1
    kinds = [bars, bars.T, square]
    made = np.stack([kinds[i % 3] for i in range(40)]) * 200 + rng.integers(0, 50, (40, 12, 12))
    made[-1] = made[0]
    return made.astype(np.uint8)


@pytest.fixture(scope="module")
def fitted(images):
    """Return a fitted model of a method; it is fitted once."""
    models = {}

    def fit(name):
        if name not in models:
            models[name] = make(name).fit(images)
        return models[name]

    return fit


@each_method
def test_every_image_has_a_cluster_and_equal_images_have_the_same(name, fitted, images):
    model = fitted(name)
    assert model.labels_.shape == (40,)
    assert set(model.labels_) <= {0, 1, 2}
    assert model.labels_[-1] == model.labels_[0]
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@each_method
def test_a_loaded_model_equals_the_saved_one(name, fitted, images, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(images), model.predict_proba(images))
    np.testing.assert_array_equal(loaded.transform(images[:5]), model.transform(images[:5]))


@each_method
def test_a_row_does_not_depend_on_the_other_images(name, fitted, images):
    together = fitted(name).transform(images)
    np.testing.assert_array_equal(fitted(name).transform(images[::-1])[::-1], together)
    alone = np.concatenate([fitted(name).transform(images[i : i + 1]) for i in (0, 7)])
    np.testing.assert_array_equal(alone, together[[0, 7]])


@each_method
def test_the_same_seed_gives_the_same_model_in_any_order_of_the_images(name, fitted, images):
    again = make(name).fit(images[::-1])
    np.testing.assert_array_equal(again.labels_[::-1], fitted(name).labels_)
    np.testing.assert_array_equal(again.transform(images), fitted(name).transform(images))


@pytest.mark.parametrize("name", sorted(NEED_WORDS))
def test_a_method_that_needs_words_refuses_images(name, images):
    with pytest.raises(InputError, match="describes clusters by words, and images have none"):
        make(name).fit(images)


def test_an_unreadable_file_stays_in_place_without_a_cluster(images, tmp_path):
    for number, image in enumerate(images[:9]):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    (tmp_path / "3.png").write_bytes(b"not an image")
    with pytest.warns(UnreadableImageWarning, match=r"1 of 9 images cannot be read.*3\.png"):
        model = make("kmeans").fit(tmp_path)
    assert model.labels_[3] == -1
    assert np.isnan(model.confidence_[3])
    assert (np.delete(model.labels_, 3) >= 0).all()
    assert model.labels_[0] == model.labels_[6] != model.labels_[1]


def test_new_images_are_resized_to_the_shape_of_the_training_images(images):
    model = make("kmeans").fit(images)
    larger = np.kron(images, np.ones((2, 2), dtype=np.uint8))[..., None].repeat(3, axis=3)
    assert model.transform(larger).shape == model.transform(images).shape
    assert (model.predict(larger) == model.labels_).mean() > 0.9


def test_an_interrupted_training_on_images_resumes_and_ends_the_same(images, tmp_path):
    whole = make("sccl").fit(images)
    path = tmp_path / "run.checkpoint"

    def stop(evaluation):
        if evaluation.record["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(TrainingStopped):
        make("sccl", checkpoint=path, checkpoint_every=1).fit(images, callback=stop)
    assert path.exists()
    again = make("sccl", checkpoint=path, checkpoint_every=1).fit(images)
    np.testing.assert_array_equal(again.transform(images), whole.transform(images))


def test_initial_labels_are_of_pixels_and_initial_centers_are_of_the_network():
    noise = np.random.default_rng(0).integers(
        0, 256, (40, 12, 12), dtype=np.uint8
    )  # clusters of pixels and of the untrained network differ
    model = make("sccl", epochs=0).fit(noise)
    labels, h = make("kmeans").fit(noise).labels_, model.transform(noise)
    means = np.stack([h[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.objective_.mu.detach(), means, atol=1e-6)


@pytest.mark.parametrize("augmenter", ["eda", "chars", "chain(chars,delete)"])
def test_an_augmenter_of_texts_is_refused(images, augmenter):
    with pytest.raises(InputError, match=r"changes texts, but the encoder 'image' reads images\. Use one of: crop"):
        make("sccl", augmenter=augmenter).fit(images)


def test_an_augmenter_of_images_is_refused_for_texts(topics):
    with pytest.raises(InputError, match="'crop' changes images, but the encoder 'tfidf' reads texts"):
        coterie.SCCL(n_clusters=3, encoder="tfidf", augmenter="crop").fit(topics[0])


def test_user_views_of_images_are_refused(images):
    with pytest.raises(InputError, match="Views are texts"):
        make("sccl").fit(images, views=[list("ab"), list("ab")])


def test_texts_are_refused_as_images_and_images_as_texts(images, topics):
    with pytest.raises(InputError, match="None of the 90 images can be read"):
        make("kmeans").fit(topics[0])
    with pytest.raises(InputError, match="Expected one text a row, got an array of shape"):
        coterie.KMeans(n_clusters=3, encoder="tfidf").fit(images)


def test_too_few_images_are_counted_in_images():
    with pytest.raises(InputError, match=r"3 clusters need at least 3 distinct images, but there is 1 \(of 4 rows"):
        make("kmeans").fit(np.zeros((4, 8, 8), dtype=np.uint8))
