"""Models that version 0.1.0 saved (schema 1) load and predict the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import coterie

FOLDER = Path(__file__).parent / "schema_1"
SAVED = json.loads((FOLDER / "answers.json").read_text())
MODELS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_schema_1_predicts_as_before(name):
    model = coterie.load(FOLDER / name)
    expected = SAVED["models"][name]
    np.testing.assert_array_equal(model.labels_, expected["labels"])
    np.testing.assert_array_equal(model.predict(SAVED["texts"]), expected["labels"])
    probabilities = model.predict_proba(SAVED["texts"][:10] + SAVED["new"])
    np.testing.assert_allclose(probabilities, expected["proba"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_migrated_model_is_saved_in_the_schema_of_today(name, tmp_path):
    model = coterie.load(FOLDER / name)
    model.save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["schema_version"] == 2
    again = coterie.load(tmp_path / "model")
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    np.testing.assert_array_equal(again.predict_proba(SAVED["new"]), model.predict_proba(SAVED["new"]))
