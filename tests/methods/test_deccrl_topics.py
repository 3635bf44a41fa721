import json
import pickle

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer

import coterie
from coterie.contracts import Corpus, Network
from coterie.encoders.bow import BowEncoder
from coterie.errors import InputError, NotFittedError
from coterie.evaluation.topic_metrics import coherence, diversity
from coterie.methods.deccrl import DECCRL, DECCRLObjective


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 2, "epoch_steps": 6, "word_dim": 20, "n_topics": 3}
    return DECCRL(**defaults | options)


@pytest.fixture(scope="module")
def fitted(topics):
    return small(guard="off").fit(topics[0])


def words_of_topics(model, n_words=10):
    return [topic.words for cluster in model.topics(n_words) for topic in cluster]


def all_words(model):
    return {word for words in words_of_topics(model, n_words=99) for word in words}


# -- topics and proportions


def test_topics_of_an_obvious_corpus_are_the_words_of_each_cluster(fitted, topics):
    texts, true_labels = topics
    assert len(fitted.topics()) == 3
    for cluster, found in enumerate(fitted.topics(n_words=5)):
        true_label = true_labels[np.flatnonzero(fitted.labels_ == cluster)[0]]
        own = {word for text, y in zip(texts, true_labels, strict=True) if y == true_label for word in text.split()}
        assert len(found) == 3
        assert all(len(topic.words) == 5 and set(topic.words) <= own for topic in found)
        assert sum(topic.weight for topic in found) == pytest.approx(1, abs=1e-3)
    assert coherence(words_of_topics(fitted, n_words=5), texts) > 0.1
    assert 0 < diversity(words_of_topics(fitted, n_words=5)) <= 1


def test_departure_before_training_most_words_of_a_topic_are_those_of_its_cluster(topics):
    texts, _ = topics
    model = small(epochs=0).fit(texts)
    shares = []
    for cluster, found in enumerate(model.topics(n_words=5)):
        own = {word for text, k in zip(texts, model.labels_, strict=True) if k == cluster for word in text.split()}
        shares += [np.mean([word in own for word in topic.words]) for topic in found]
    assert np.mean(shares) > 0.8  # a third by chance


@pytest.mark.parametrize("assign_by", ["kmeans", "q"])
def test_topics_belong_to_the_clusters_of_labels_(topics, assign_by):
    """The final k-means sorts the clusters by size, so topics must come from its centers and not from mu."""
    texts = topics[0][:60] + topics[0][60::3]  # one topic is more frequent
    model = small(assign_by=assign_by).fit(texts)
    for cluster, found in enumerate(model.topics(n_words=3)):
        members = [text for text, k in zip(texts, model.labels_, strict=True) if k == cluster]
        assert all(any(word in text.split() for text in members) for topic in found for word in topic.words)


def test_the_weight_of_a_topic_is_its_mean_proportion_in_the_cluster(fitted, topics):
    proportions = fitted.proportions(topics[0])
    for cluster, found in enumerate(fitted.topics()):
        mean = proportions[fitted.labels_ == cluster].mean(axis=0)
        np.testing.assert_allclose([topic.weight for topic in found], mean, atol=1e-4)


def test_proportions_of_a_text_do_not_depend_on_the_other_texts(fitted, topics):
    texts = topics[0]
    together = fitted.proportions(texts)
    assert together.shape == (90, 3)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(fitted.proportions(texts[:1]), together[:1], atol=1e-12)
    np.testing.assert_allclose(fitted.proportions(texts[::-1])[::-1], together, atol=1e-12)
    assert together.std(axis=0).min() > 1e-4
    np.testing.assert_allclose(fitted.proportions(["nothing known here"]), [[1 / 3] * 3])


def test_proportions_of_a_blank_text_are_nan(fitted):
    with pytest.warns(UserWarning, match="1 of 2 texts is blank"):
        proportions = fitted.proportions(["goal match", " "])
    assert np.isnan(proportions[1]).all()
    assert not np.isnan(proportions[0]).any()


def test_topics_before_fit_are_refused():
    for call in (lambda model: model.topics(), lambda model: model.proportions(["a"])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(DECCRL())


# -- saved and resumed


def test_topics_and_proportions_survive_save_and_pickle(fitted, topics, tmp_path):
    fitted.save(tmp_path / "model")
    for other in (coterie.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert other.topics() == fitted.topics()
        np.testing.assert_array_equal(other.proportions(topics[0]), fitted.proportions(topics[0]))
        np.testing.assert_array_equal(other.predict(topics[0]), fitted.labels_)
    coterie.load(tmp_path / "model").save(tmp_path / "again")
    assert coterie.load(tmp_path / "again").topics() == fitted.topics()


def test_the_saved_notes_have_the_topics_and_the_vocabulary(fitted):
    notes = fitted.saved_notes()
    topic = fitted.topics()[1][2]
    assert notes["topics"][1][2] == {"weight": topic.weight, "words": topic.words}
    assert set(notes["words"]) == all_words(fitted)
    json.dumps(notes, allow_nan=False)


def test_the_cluster_table_has_the_topics_and_other_methods_have_none(fitted, topics):
    for row in fitted.describe():
        expected = [(topic.weight, topic.words) for topic in fitted.topics()[row.cluster]]
        assert [(topic.weight, topic.words) for topic in row.topics] == expected
    other = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    assert not any(row.topics for row in other.describe())


def test_a_resumed_training_ends_with_the_same_topics(topics, tmp_path):
    def stop(evaluation):
        if evaluation.record["step"] == 6:
            raise RuntimeError("power failure")

    options = {"guard": "off", "checkpoint": tmp_path / "run", "checkpoint_every": 4}
    whole = small(guard="off").fit(topics[0])
    with pytest.raises(RuntimeError, match="power failure"):
        small(**options).fit(topics[0], callback=stop)
    assert (tmp_path / "run").exists()
    resumed = small(**options).fit(topics[0])
    assert resumed.topics() == whole.topics()
    np.testing.assert_array_equal(resumed.proportions(topics[0]), whole.proportions(topics[0]))


def test_the_losses_decrease(topics):
    history = small(epochs=5, guard="off", head_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["reconstruction"] < history[0]["reconstruction"]


# -- without topics


@pytest.mark.parametrize("options", [{"reconstruct": "none"}, {"reconstruct": "latent"}, {"min_df": 90}], ids=str)
def test_without_words_there_are_no_topics(topics, tmp_path, options):
    model = small(epochs=1, epoch_steps=2, **options).fit(topics[0])
    model.save(tmp_path / "model")
    for one in (model, coterie.load(tmp_path / "model")):
        assert one.topics() == []
        np.testing.assert_array_equal(one.predict(topics[0]), model.labels_)
        with pytest.raises(InputError, match="This model has no topics"):
            one.proportions(topics[0])


def test_vectors_have_no_topics():
    h = np.random.default_rng(0).normal(size=(30, 5)) + 4 * np.eye(5)[np.arange(30) % 3]
    model = small(encoder="precomputed", epochs=1, epoch_steps=2).fit(h)
    assert model.topics() == []
    with pytest.raises(InputError, match="This model has no topics"):
        model.proportions(h)


# -- vocabulary


class Characters(BowEncoder):
    """Counts characters, to embed texts without spaces without a large model."""

    def _vectorizer(self, vocabulary=None):
        return CountVectorizer(analyzer="char", vocabulary=vocabulary)


def test_texts_in_languages_without_spaces_have_topics():
    ends = ("今天", "明天", "新闻", "报道", "消息")
    texts = [f"{start}{end}" for start in ("足球比赛", "足球联赛", "股票市场", "股票交易") for end in ends]
    model = small(n_clusters=2, encoder=Characters(), epochs=1).fit(texts)
    for cluster, found in enumerate(model.topics(n_words=4)):
        members = "".join(text for text, k in zip(texts, model.labels_, strict=True) if k == cluster)
        assert {"足球", "股票"} & {word for topic in found for word in topic.words}
        assert all(topic.words[0] in members for topic in found)


def test_settings_of_the_vocabulary_are_used(topics):
    assert len(all_words(small(epochs=0, max_features=6).fit(topics[0]))) == 6
    texts = [*topics[0], "the goal", "the bank", "the gene"]
    assert "the" in all_words(small(epochs=0, stop_words=False).fit(texts))
    assert "the" not in all_words(small(epochs=0).fit(texts))


def test_the_word_vectors_get_the_seed(monkeypatch):
    seeds = []

    def spy(vocabulary, texts, source, *, dim, seed):
        seeds.append(seed)
        return np.ones((len(vocabulary), dim), dtype=np.float32)

    monkeypatch.setattr("coterie.methods.deccrl.word_vectors", spy)
    objective = DECCRLObjective(DECCRL(n_clusters=2, min_df=1, max_df=1.0, word_dim=4), Network(3))
    corpus = Corpus(["red blue", "green"], torch.eye(2, 3), torch.ones(2, dtype=torch.long), torch.arange(2))
    objective.initialize(corpus, 7)
    assert seeds == [7]


@pytest.mark.parametrize(
    ("setting", "value"), [("n_topics", 0), ("topic_mixture", "best"), ("max_df", 0.0), ("word_dim", 1)]
)
def test_an_invalid_setting_is_named(topics, setting, value):
    with pytest.raises(InputError, match=f"DECCRL: `{setting}` must be"):
        small(**{setting: value}).fit(topics[0])


# -- FC_e


@pytest.mark.parametrize("latent_dim", [None, 4])
@pytest.mark.parametrize("encoder", ["tfidf", "precomputed"])
def test_transform_returns_h_of_the_latent_dimension(topics, tmp_path, latent_dim, encoder):
    h = np.random.default_rng(0).normal(size=(90, 9)) + 4 * np.eye(9)[np.arange(90) % 3]
    items = topics[0] if encoder == "tfidf" else h
    model = small(encoder=encoder, latent_dim=latent_dim, epochs=1, epoch_steps=3).fit(items)
    width = latent_dim or (21 if encoder == "tfidf" else 9)
    assert model.transform(items).shape == (90, width)
    assert model.cluster_centers_.shape == (3, width)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(items), model.transform(items))
    np.testing.assert_array_equal(loaded.predict(items), model.labels_)
