import json
import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer

import coterie
from coterie.artifact import read_config
from coterie.contracts import Batch, Corpus, Network
from coterie.data.vocabulary import Vocabulary
from coterie.describe.clusters import describe
from coterie.describe.topics import top_words, topics_of
from coterie.encoders.corpus_vectors import corpus_vectors
from coterie.encoders.lexical import BowEncoder
from coterie.errors import InputError, MissingExtraError, NotFittedError
from coterie.evaluation.topics import coherence, diversity
from coterie.heads.latent import Latent
from coterie.heads.topics import TopicWords
from coterie.losses.assignment import kl, sharpen, student_t
from coterie.losses.contrastive import nt_xent
from coterie.losses.cross_view import cross_view
from coterie.methods.deccrl import DECCRL, DECCRLObjective

TEXTS = ["red red blue", "blue green", "black", "green black red", "nothing known", "red blue"]
SETTINGS = {"n_clusters": 3, "n_topics": 2, "word_dim": 5, "inference_dim": 7, "min_texts": 1, "max_share": 1.0}


def corpus_of(items=TEXTS):
    h = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    return Corpus(items, h, torch.ones(6, dtype=torch.long), torch.tensor([0, 1, 2, 0, 1, 2]))


def objective_of(items=TEXTS, **options):
    torch.manual_seed(0)
    objective = DECCRLObjective(DECCRL(**SETTINGS | options), Network(4))
    objective.start(corpus_of(items), 0)
    return objective


def batch_of():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(2))
    return Batch(torch.arange(6), h, (h_1, h_2))


# -- the objective


def test_the_loss_is_its_three_terms_with_their_weights():
    settings = {"cluster_weight": 0.3, "reconstruction_weight": 0.2, "temperature": 0.4, "degrees_of_freedom": 2.0}
    objective, batch = objective_of(scale=1.5, **settings), batch_of()
    torch.manual_seed(7)
    terms = objective.joint(batch)
    assert terms.keys() == {"instance", "cluster", "reconstruction"}
    contrast = cross_view(*(objective.g(h) for h in batch.augmented), tau=0.4)
    log_q = student_t(1.5 * batch.original, 1.5 * objective.mu, alpha=2.0)
    torch.manual_seed(7)  # the same noise
    torch.testing.assert_close(terms["instance"], contrast)
    torch.testing.assert_close(terms["cluster"], 0.3 * kl(sharpen(log_q), log_q))
    torch.testing.assert_close(terms["reconstruction"], 0.2 * objective.reconstruction(log_q, batch.rows))


def slow_reconstruction(objective, q, noise):
    """Eq. 10-15 with every topic of every cluster written out, text by text."""
    topics, total, told = objective.topics, 0.0, 0
    with torch.no_grad():
        alpha = torch.stack(
            [torch.stack([topics.words.fc_g(torch.cat([c, u])) for u in topics.words.u]) for c in objective.mu]
        )  # (K, T, R)
        beta = torch.softmax(torch.einsum("vr,ktr->ktv", topics.words.rho, alpha), dim=2)
        for i, text in enumerate(TEXTS):
            numbers = [topics.vocabulary.number[word] for word in text.split() if word in topics.vocabulary.number]
            if not numbers:
                continue
            bag = torch.zeros(len(topics.vocabulary))
            for number in numbers:
                bag[number] += 1 / len(numbers)
            hidden = topics.inference.hidden(bag @ topics.inference.words + topics.inference.bias)
            mean, log_variance = topics.inference.mean(hidden), topics.inference.log_variance(hidden)
            theta = torch.softmax(mean + noise[i] * torch.exp(log_variance / 2), dim=0)
            of_cluster = [math.prod(float(beta[k].T[number] @ theta) + 1e-6 for number in numbers) for k in range(3)]
            divergence = -0.5 * sum(1 + s - m**2 - math.exp(s) for m, s in zip(mean, log_variance, strict=True))
            total += float(divergence) - math.log(sum(float(q[i, k]) * of_cluster[k] for k in range(3)))
            told += 1
    assert told == 5
    return total / told


def test_the_reconstruction_is_its_equations():
    objective, batch = objective_of(min_texts=2), batch_of()
    assert objective.topics.vocabulary.words == ["black", "blue", "green", "red"]
    log_q = objective.log_q(batch.original)
    torch.manual_seed(3)
    found = objective.reconstruction(log_q, batch.rows).item()
    torch.manual_seed(3)
    noise = torch.randn(6, 2)
    assert found == pytest.approx(slow_reconstruction(objective, log_q.detach().exp(), noise), rel=1e-4)


@pytest.mark.parametrize("mixture", ["marginal", "expected", "gumbel", "argmax", "softmax"])
def test_gradients_reach_centers_topics_the_generator_and_the_inference_network(mixture):
    objective = objective_of(mixture=mixture)
    h = batch_of().original.requires_grad_()
    objective.reconstruction(objective.log_q(h), torch.arange(6)).backward()
    learning = {name: weight for name, weight in objective.named_parameters() if name.startswith(("topics", "mu"))}
    assert {"mu", "topics.words.u", "topics.words.fc_g.weight", "topics.inference.words"} <= learning.keys()
    for name, weight in learning.items():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name
    assert (h.grad is not None and h.grad.abs().sum() > 0) == (mixture != "argmax")


def test_gradients_of_the_whole_loss_reach_everything_that_learns():
    objective = objective_of()
    sum(objective.joint(batch_of()).values()).backward()
    for name, weight in objective.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name


def test_mixtures_differ_but_agree_where_a_text_is_sure_of_its_cluster():
    sure = torch.full((6, 3), -40.0)
    sure[torch.arange(6), torch.arange(6) % 3] = 0.0
    values = {}
    for mixture in ("marginal", "expected", "gumbel", "argmax", "softmax"):
        for kind, log_q in (("sure", sure), ("unsure", objective_of().log_q(batch_of().original))):
            objective = objective_of(mixture=mixture)
            torch.manual_seed(1)  # the same noise
            values[mixture, kind] = objective.reconstruction(log_q, torch.arange(6)).item()
    assert values["marginal", "sure"] == pytest.approx(values["argmax", "sure"], rel=1e-4)
    assert values["expected", "sure"] == pytest.approx(values["argmax", "sure"], rel=1e-4)
    assert values["gumbel", "sure"] == pytest.approx(values["argmax", "sure"], rel=1e-4)
    assert values["softmax", "sure"] != pytest.approx(values["argmax", "sure"], rel=1e-3)
    assert values["expected", "unsure"] != pytest.approx(values["argmax", "unsure"], rel=1e-3)
    assert values["marginal", "unsure"] != pytest.approx(values["expected", "unsure"], rel=1e-3)


def test_the_contrast_may_be_that_of_sccl_times_two():
    objective, batch = objective_of(contrast="nt_xent"), batch_of()
    expected = 2 * nt_xent(*(objective.g(h) for h in batch.augmented), tau=0.5)
    torch.testing.assert_close(objective.joint(batch)["instance"], expected)
    assert objective_of().joint(batch)["instance"].item() != pytest.approx(expected.item(), rel=1e-3)


def test_without_reconstruction_there_are_two_terms_and_with_the_latent_one_h_itself_is_reconstructed():
    batch = batch_of()
    assert objective_of(reconstruct="nothing").joint(batch).keys() == {"instance", "cluster"}
    objective = objective_of(reconstruct="latent", reconstruction_weight=0.5)
    assert [tuple(weight.shape) for weight in objective.lsr.parameters()] == [(2, 4), (2,), (4, 2), (4,)]
    difference = (batch.original - objective.lsr(batch.original)).square().sum(dim=1).mean()
    torch.testing.assert_close(objective.joint(batch)["reconstruction"], 0.5 * difference)


@pytest.mark.parametrize("items", [np.eye(6, 4), ["?", "!", "1", "2", "3", "4"]])
def test_vectors_and_texts_without_words_train_through_the_other_terms(items):
    objective = objective_of(items)
    assert objective.joint(batch_of()).keys() == {"instance", "cluster"}
    assert objective.topics.vocabulary.words == []


# -- topics


def test_topics_begin_with_the_words_of_the_first_groups():
    counts = torch.tensor([[9.0, 1, 0, 2], [0, 8, 1, 2], [1, 0, 9, 2]])
    words, c = TopicWords(4, 2, 6), torch.eye(3, 4)
    torch.manual_seed(0)
    words.begin(torch.randn(4, 6), c, counts)
    with torch.no_grad():
        words.u.zero_()  # what tells topics of one cluster apart
        a, b = words(c)
    shares = torch.softmax(a[:, None] + b, dim=2)[:, 0]  # (K, V)
    p, added = counts.sum(0) / counts.sum(), counts.sum() / 3 / 2  # half a mean group of words as they are everywhere
    of_group = ((counts + added * p) / (counts.sum(1, keepdim=True) + added)).log()
    expected = torch.softmax(p.log() + of_group - of_group.mean(0), dim=1)
    np.testing.assert_allclose(shares, expected, atol=0.005)
    assert shares.argmax(dim=1).tolist() == [0, 1, 2]


def small(**options):
    return DECCRL(**{"n_clusters": 3, "encoder": "tfidf", "epochs": 2, "word_dim": 20, "n_topics": 3} | options)


@pytest.fixture(scope="module")
def fitted(topics):
    return small(guard="off").fit(topics[0])


def test_topics_of_an_obvious_corpus_name_its_words(fitted, topics):
    texts, topic = topics
    assert len(fitted.topics()) == 3
    for cluster, found in enumerate(fitted.topics(n_words=5)):
        kind = topic[np.flatnonzero(fitted.labels_ == cluster)[0]]
        own = {word for text, k in zip(texts, topic, strict=True) if k == kind for word in text.split()}
        assert len(found) == 3
        assert all(len(one.words) == 5 and set(one.words) <= own for one in found)
        assert sum(one.weight for one in found) == pytest.approx(1, abs=1e-3)
    assert coherence(top_words(fitted, n_words=5), texts) > 0.1
    assert 0 < diversity(top_words(fitted, n_words=5)) <= 1


def test_topics_belong_to_the_clusters_that_are_told_to_the_user(topics):
    """k-means at the end numbers clusters anew, so topics come from its centers and not from the learnt ones."""
    texts = topics[0][:60] + topics[0][60::3]  # one kind of text is more frequent
    for assign_by in ("kmeans", "q"):
        model = small(assign_by=assign_by).fit(texts)
        for cluster, found in enumerate(model.topics(n_words=3)):
            members = [text for text, k in zip(texts, model.labels_, strict=True) if k == cluster]
            assert all(any(word in text.split() for text in members) for one in found for word in one.words)


def test_the_weight_of_a_topic_is_its_mean_share_in_the_texts_of_the_cluster(fitted, topics):
    shares = fitted.proportions(topics[0])
    for cluster, found in enumerate(fitted.topics()):
        mean = shares[fitted.labels_ == cluster].mean(axis=0)
        np.testing.assert_allclose([one.weight for one in found], mean, atol=1e-4)


def test_proportions_are_for_one_text_as_for_many(fitted, topics):
    texts = topics[0]
    together = fitted.proportions(texts)
    assert together.shape == (90, 3)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(fitted.proportions(texts[:1]), together[:1], atol=1e-12)
    np.testing.assert_allclose(fitted.proportions(texts[::-1])[::-1], together, atol=1e-12)
    assert together.std(axis=0).min() > 1e-4  # texts differ
    np.testing.assert_allclose(fitted.proportions(["nothing known here"]), [[1 / 3] * 3])


def test_a_blank_text_has_no_topics(fitted):
    with pytest.warns(UserWarning, match="1 of 2 texts are blank"):
        shares = fitted.proportions(["goal match", " "])
    assert np.isnan(shares[1]).all()
    assert not np.isnan(shares[0]).any()


def test_topics_and_proportions_survive_save_and_load_and_pickle(fitted, topics, tmp_path):
    fitted.save(tmp_path / "model")
    for other in (coterie.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert other.topics() == fitted.topics()
        np.testing.assert_array_equal(other.proportions(topics[0]), fitted.proportions(topics[0]))
        np.testing.assert_array_equal(other.predict(topics[0]), fitted.labels_)
    coterie.load(tmp_path / "model").save(tmp_path / "again")
    assert coterie.load(tmp_path / "again").topics() == fitted.topics()


def test_the_saved_folder_carries_the_topics_of_every_cluster(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    notes = read_config(tmp_path / "model")["notes"]
    assert notes["topics"][1][2] == {"weight": fitted.topics()[1][2].weight, "words": fitted.topics()[1][2].words}
    assert sorted(notes["words"]) == sorted({word for words in top_words(fitted, n_words=99) for word in words})
    json.dumps(notes, allow_nan=False)


def test_the_cluster_table_carries_them_too_and_other_methods_have_none(fitted, topics):
    rows = describe(topics[0], fitted.labels_, fitted.confidence_, 3, topics=topics_of(fitted))
    assert all(row.topics == fitted.topics()[row.cluster] for row in rows)
    assert all(row.as_dict()["topics"][0]["words"] == row.topics[0].words for row in rows)
    other = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    assert topics_of(other) == []
    assert "topics" not in describe(topics[0], other.labels_, other.confidence_, 3)[0].as_dict()


def test_a_training_that_goes_on_ends_with_the_same_topics(topics, tmp_path):
    def stop(evaluation):
        if evaluation.record["step"] == 10:
            raise RuntimeError("the machine was switched off")

    options = {"epoch_steps": 10, "guard": "off", "checkpoint": tmp_path / "run", "checkpoint_every": 4}
    whole = small(**options | {"checkpoint": None}).fit(topics[0])
    with pytest.raises(RuntimeError, match="switched off"):
        small(**options).fit(topics[0], watch=stop)
    assert (tmp_path / "run").exists()
    again = small(**options).fit(topics[0])
    assert again.topics() == whole.topics()
    np.testing.assert_array_equal(again.proportions(topics[0]), whole.proportions(topics[0]))


def test_the_loss_goes_down_and_the_words_become_likelier(topics):
    history = small(epochs=6, guard="off", head_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["reconstruction"] < history[0]["reconstruction"]


@pytest.mark.parametrize("options", [{"reconstruct": "nothing"}, {"reconstruct": "latent"}, {"min_texts": 90}])
def test_without_words_there_are_no_topics_and_it_says_so(topics, tmp_path, options):
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


def test_topics_before_fit_are_refused():
    for ask in (lambda m: m.topics(), lambda m: m.proportions(["a"])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(DECCRL())


class Characters(BowEncoder):
    """Counts characters, so that texts without spaces have vectors without a large model."""

    def _counter(self, vocabulary=None):
        return CountVectorizer(analyzer="char", vocabulary=vocabulary)


def test_texts_in_languages_without_spaces_have_topics():
    ends = ("今天", "明天", "新闻", "报道", "消息")
    texts = [f"{kind}{end}" for kind in ("足球比赛", "足球联赛", "股票市场", "股票交易") for end in ends]
    model = small(n_clusters=2, encoder=Characters(), epochs=1).fit(texts)
    for cluster, found in enumerate(model.topics(n_words=4)):
        members = "".join(text for text, k in zip(texts, model.labels_, strict=True) if k == cluster)
        assert {"足球", "股票"} & {word for one in found for word in one.words}
        assert all(word in members for one in found for word in one.words[:1])


# -- word vectors


@pytest.mark.parametrize("source", ["ppmi", "skipgram", "glove"])
def test_words_of_one_topic_have_nearer_vectors_than_words_of_two(topics, source):
    if source == "skipgram":
        pytest.importorskip("gensim")
    texts = topics[0] * 30  # skip-gram learns nothing from a few texts
    vocabulary = Vocabulary.of(texts)
    vectors = corpus_vectors(vocabulary, texts, source, width=12, seed=0)
    assert vectors.shape == (21, 12)
    np.testing.assert_array_equal(vectors, corpus_vectors(vocabulary, texts, source, width=12, seed=0))
    row = {word: vectors[vocabulary.number[word], :-1] for word in ("goal", "team", "bank", "market")}
    assert row["bank"] @ row["market"] > row["bank"] @ row["team"]
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :-1], axis=1), 1, atol=1e-5)
    assert vectors[:, -1].mean() == pytest.approx(0, abs=1e-5)


def test_the_last_number_of_a_word_is_how_frequent_it_is():
    vocabulary = Vocabulary(["rare", "usual"])
    vectors = corpus_vectors(vocabulary, ["usual rare", "usual", "usual words"], "ppmi", width=4, seed=0)
    np.testing.assert_allclose(vectors[:, -1], [-1, 1], atol=1e-6)


def test_vectors_may_be_a_file_or_a_folder_and_are_cut_or_padded(tmp_path):
    (tmp_path / "vectors.txt").write_text("red 1 0 0\nblue 0 3 4\n", encoding="utf-8")
    vocabulary, texts = Vocabulary(["blue", "green", "red"]), ["red blue", "green"]
    for source in (tmp_path, tmp_path / "vectors.txt"):
        padded = corpus_vectors(vocabulary, texts, str(source), width=6, seed=0)
        np.testing.assert_allclose(padded[:, :-1], [[0, 0.6, 0.8, 0, 0], [0] * 5, [1, 0, 0, 0, 0]], atol=1e-6)
    cut = corpus_vectors(vocabulary, texts, str(tmp_path), width=3, seed=0)[:, :-1]
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), [1, 0, 1], atol=1e-6)


def test_vectors_that_cannot_be_used_are_refused(tmp_path, monkeypatch):
    vocabulary, texts = Vocabulary(["blue", "red"]), ["red blue"]
    for source, sentence in (
        (str(tmp_path / "nowhere.txt"), "There is no file of word vectors"),
        (str(tmp_path), "must hold one file of vectors"),
    ):
        with pytest.raises(InputError, match=sentence):
            corpus_vectors(vocabulary, texts, source, width=4, seed=0)
    (tmp_path / "other.txt").write_text("schwarz 1 0\ngelb 0 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="knows 0 of the 2 words of these texts"):
        corpus_vectors(vocabulary, texts, str(tmp_path), width=4, seed=0)
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[word2vec\]'"):
        corpus_vectors(vocabulary, texts, "skipgram", width=4, seed=0)


# -- FC_e


def test_as_wide_as_the_encoder_fc_e_begins_as_the_identity():
    h = torch.randn(700, 5)
    latent = Latent(Network(5), None)
    assert torch.equal(latent.look(h), h)
    np.testing.assert_array_equal(latent.embed(h.numpy()), h.numpy())


def test_narrower_fc_e_keeps_distances_on_average():
    torch.manual_seed(0)
    h = torch.nn.functional.normalize(torch.randn(200, 64), dim=1)
    latent = Latent(Network(64), 32)
    ratio = torch.pdist(latent.look(h)) / torch.pdist(h)
    assert latent.dim == 32
    assert ratio.mean().item() == pytest.approx(1, abs=0.05)


def test_fc_e_learns_and_views_pass_through_it():
    latent = Latent(Network(4), 3)
    views = latent(torch.randn(5, 4), torch.randn(2, 4))
    assert [tuple(view.shape) for view in views] == [(5, 3), (2, 3)]
    sum(view.square().sum() for view in views).backward()
    assert latent.fc_e.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("latent_dim", [None, 4])
@pytest.mark.parametrize("encoder", ["tfidf", "precomputed"])
def test_a_narrow_h_is_what_transform_returns_before_and_after_load(topics, tmp_path, latent_dim, encoder):
    h = np.random.default_rng(0).normal(size=(90, 9)) + 4 * np.eye(9)[np.arange(90) % 3]
    given = topics[0] if encoder == "tfidf" else h
    model = small(encoder=encoder, latent_dim=latent_dim, epochs=1, epoch_steps=3).fit(given)
    width = latent_dim or (21 if encoder == "tfidf" else 9)
    assert model.transform(given).shape == (90, width)
    assert model.cluster_centers_.shape == (3, width)
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(given), model.transform(given))
    np.testing.assert_array_equal(loaded.predict(given), model.labels_)


# -- how large it may be


def test_the_paper_s_largest_set_fits_and_costs_little():
    """20,000 texts, K = 152, T = 20, V = 20,000: no tensor of a step is as large as a tenth of all topics' words."""
    settings = {"n_clusters": 152, "n_topics": 20, "word_dim": 100, "inference_dim": 64}
    objective = DECCRLObjective(DECCRL(**settings), Network(32))
    vocabulary = Vocabulary([f"w{i}" for i in range(20_000)])
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in generator.integers(20_000, size=8)) for _ in range(200)]
    labels = torch.arange(200) % 152
    corpus = Corpus(texts, torch.randn(200, 32), torch.ones(200, dtype=torch.long), labels)
    objective.mu.data.copy_(corpus.means(152))
    objective.topics.begin(vocabulary, torch.randn(20_000, 100), corpus, objective.mu.detach())
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            found = func(*args, **(kwargs or {}))
            for x in found if isinstance(found, tuple | list) else [found]:
                largest = max(largest, x.numel() if isinstance(x, torch.Tensor) else 0)
            return found

    with Watch():
        objective.reconstruction(objective.log_q(corpus.h), torch.arange(200)).backward()
    assert 152 * 20_000 <= largest < 152 * 20 * 20_000 / 10


def test_settings_of_words_are_heard(topics):
    model = small(epochs=0, max_features=6).fit(topics[0])
    assert len({word for words in top_words(model) for word in words}) == 6
    texts = [*topics[0], "the goal", "the bank", "the gene"]
    with_stop_words = small(epochs=0, stop_words=False).fit(texts)
    assert "the" in {word for words in top_words(with_stop_words, n_words=99) for word in words}
    without = small(epochs=0).fit(texts)
    assert "the" not in {word for words in top_words(without, n_words=99) for word in words}


@pytest.mark.parametrize(
    ("setting", "value"), [("n_topics", 0), ("mixture", "best"), ("max_share", 0.0), ("word_dim", 1)]
)
def test_a_bad_setting_is_named(topics, setting, value):
    with pytest.raises(InputError, match=f"DECCRL: `{setting}` must be"):
        small(**{setting: value}).fit(topics[0])
