"""The encoder `image`: pixels, a small ResNet trained from scratch, pretrained vision models."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from transformers import ResNetConfig, ResNetModel, ViTConfig, ViTModel

import coterie
from coterie.encoders.encoder import make_encoder
from coterie.encoders.image import ImageEncoder
from coterie.encoders.networks.resnet import SmallResNet, pixel_vectors
from coterie.errors import EncoderError, InputError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (70, 8, 8, 1), dtype=np.uint8)


@pytest.fixture(scope="module")
def backbones(tmp_path_factory):
    """Folders of a tiny ViT with a preprocessor configuration, and of a tiny ResNet without one."""
    made = tmp_path_factory.mktemp("vision")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        vit = ViTConfig(
            hidden_size=16,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=20,
            image_size=16,
            patch_size=8,
        )
        ViTModel(vit, add_pooling_layer=False).save_pretrained(made / "vit")
        resnet = ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
        ResNetModel(resnet).save_pretrained(made / "resnet")
    (made / "vit" / "preprocessor_config.json").write_text(
        '{"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}, '
        '"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]}'
    )
    return made


def test_pixel_vectors_are_centered_downsampled_and_of_length_one():
    x = torch.rand(3, 2, 28, 28)
    rows = pixel_vectors(x)
    assert rows.shape == (3, 2 * 14 * 14)
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3))
    torch.testing.assert_close(rows.mean(dim=1), torch.zeros(3), atol=1e-6, rtol=0)
    expected = x[0, 0, :2, :2].mean() - x[0].mean()
    beside = x[0, 0, :2, 2:4].mean() - x[0].mean()
    torch.testing.assert_close(rows[0, 0] / rows[0, 1], expected / beside, rtol=1e-3, atol=0)


def test_before_training_embeddings_are_pixels_independent_of_their_brightness():
    h = make_encoder("image").fit(IMAGES).embed(IMAGES)
    assert h.shape == (70, 64)
    darker = make_encoder("image").fit(IMAGES).embed(IMAGES // 2)
    assert (h * darker).sum(axis=1).min() > 0.999


def test_the_order_of_the_channels_in_memory_changes_no_feature():
    torch.manual_seed(0)
    body, x = SmallResNet(1, width=4, blocks=1), torch.rand(6, 1, 12, 12)
    h, plain = body(x), torch.nn.Sequential.forward(body, x)
    torch.testing.assert_close(h, plain, atol=1e-5, rtol=1e-4)
    weights = list(body.parameters())
    for gradient, expected in zip(
        torch.autograd.grad(h[:, 0].sum(), weights), torch.autograd.grad(plain[:, 0].sum(), weights), strict=True
    ):
        torch.testing.assert_close(gradient, expected, atol=1e-4, rtol=1e-3)


def test_width_and_blocks_are_the_size_of_the_network():
    body = SmallResNet(3, width=4, blocks=2)
    assert body(torch.zeros(2, 3, 9, 9)).shape == (2, body.dim) == (2, 16)
    assert sum(isinstance(part, nn.Conv2d) for part in body.modules()) == 1 + 3 * 2 * 2 + 2


def network_of(**settings):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ImageEncoder(width=4, **settings).fit(IMAGES).network()


def test_a_row_does_not_depend_on_its_batch():
    network = network_of()
    together = network.embed(IMAGES)
    np.testing.assert_array_equal(network.embed(IMAGES[::-1])[::-1], together)
    np.testing.assert_array_equal(network.embed(IMAGES[66:67]), together[66:67])


def test_encode_does_not_update_batch_norms_and_forward_does():
    network = network_of().train()
    before = copy.deepcopy(network.state_dict())
    network.encode(network.prepare(IMAGES))
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    network(network.prepare(IMAGES))
    assert any(not torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_the_initial_batch_norm_statistics_are_those_of_the_images():
    network = network_of()
    prepared = network.prepare(IMAGES)
    encoded = network.encode(prepared)
    (h,) = network.train()(prepared)
    torch.testing.assert_close(encoded, h, atol=0.05, rtol=0)
    assert encoded.mean(dim=0).abs().max() < 0.2  # spread around zero


def test_batch_norms_see_all_views_together():
    network = network_of().train()
    prepared = network.prepare(IMAGES)
    first, second = network(prepared[:30], prepared[30:])
    torch.testing.assert_close(torch.cat([first, second]), network(prepared)[0])


def test_batch_norms_are_saved_with_the_model(tmp_path):
    model = coterie.SCCL(n_clusters=2, encoder=ImageEncoder(width=4), epochs=1, max_steps=3, batch_size=32).fit(IMAGES)
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model").objective_.state_dict()
    ours = model.objective_.state_dict()
    norms = [name for name in ours if "running_" in name]
    assert norms
    assert all(torch.equal(again[name], ours[name]) for name in norms)


def test_a_pickle_has_no_sample_of_the_images():
    encoder = make_encoder("image").fit(IMAGES)
    again = pickle.loads(pickle.dumps(encoder))
    assert not hasattr(again, "_sample")
    np.testing.assert_array_equal(again.embed(IMAGES), encoder.embed(IMAGES))


def test_a_network_before_fit_is_an_error():
    with pytest.raises(InputError, match="has seen no images yet"):
        make_encoder("image").network()


# -- pretrained models


def test_a_vit_preprocesses_images_as_configured_in_its_folder(backbones):
    encoder = make_encoder(f"image:{backbones / 'vit'}")
    images = encoder.check(IMAGES).unique
    assert images.shape == (70, 16, 16, 3)
    assert encoder.fingerprint() == make_encoder(encoder).fingerprint()  # its folder has no pooler
    h = encoder.fit(images).embed(images[:3])
    model = ViTModel.from_pretrained(backbones / "vit", add_pooling_layer=False).eval()
    x = torch.from_numpy(images[:3]).permute(0, 3, 1, 2) / 255
    with torch.no_grad():
        states = model(pixel_values=(x - 0.5) / 0.25).last_hidden_state
    expected = nn.functional.normalize(states.mean(dim=1), dim=1)
    np.testing.assert_allclose(h, expected, atol=1e-5)
    cls = ImageEncoder(model=str(backbones / "vit"), pooling="cls").fit(images).embed(images[:3])
    np.testing.assert_allclose(cls, nn.functional.normalize(states[:, 0], dim=1), atol=1e-5)


def test_the_feature_map_of_a_resnet_is_averaged(backbones):
    encoder = ImageEncoder(model=str(backbones / "resnet"), size=32)
    images = encoder.check(IMAGES[:4]).unique
    assert encoder.fit(images).embed(images).shape == (4, 12)


@pytest.mark.parametrize(("name", "size"), [("vit", None), ("resnet", 32)])
def test_only_the_last_layers_are_trained(backbones, name, size):
    encoder = ImageEncoder(model=str(backbones / name), size=size)
    model = coterie.SCCL(
        n_clusters=2, encoder=encoder, epochs=1, max_steps=2, batch_size=32, trainable_layers=1, guard="off"
    ).fit(IMAGES)
    fresh, network = make_encoder(encoder), model.objective_.network
    before = fresh._pretrained().state_dict()
    changed = {key for key, value in network.state_dict().items() if not torch.equal(value, before[key])}
    last = "layers.2." if name == "vit" else "stages.1."
    assert changed
    assert all(last in key for key in changed), changed
    np.testing.assert_array_equal(model.predict(IMAGES), model.labels_)


def test_a_folder_without_a_vision_model_is_refused(tiny_bert, tmp_path):
    with pytest.raises(EncoderError, match="reads input_ids, not images"):
        make_encoder(f"image:{tiny_bert}").check(IMAGES)
    with pytest.raises(EncoderError, match="Cannot load the model"):
        make_encoder(f"image:{tmp_path}").check(IMAGES)


@pytest.mark.parametrize("normalize", [True, False])
def test_features_have_length_one_unless_normalize_is_off(normalize):
    pixels = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 1), dtype=np.uint8)
    network = ImageEncoder(width=4, normalize=normalize).fit(pixels).network()
    lengths = np.linalg.norm(network.embed(pixels), axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == normalize
