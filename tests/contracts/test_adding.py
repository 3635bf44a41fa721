"""A method, or an encoder, is one file and nothing else. The example files of CONTRIBUTING.md are added here."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

SCRIPT = """
import json, sys
from pathlib import Path

import coterie
import coterie.encoders
import coterie.methods
from typer.testing import CliRunner

folder = Path(sys.argv[1])
coterie.methods.__path__.append(str(folder / "methods"))  # as if the files were in the package
coterie.encoders.__path__.append(str(folder / "encoders"))
texts = (folder / "texts.txt").read_text().splitlines()


def use(model):
    model.fit(texts).save(folder / "model", overwrite=True)
    loaded = coterie.load(folder / "model")
    return {
        "class": type(loaded).__name__,
        "history": getattr(model, "history_", []),
        "labels": model.labels_.tolist(),
        "predicted": model.predict(texts).tolist(),
        "loaded": loaded.predict(texts).tolist(),
        "width": loaded.transform(texts).shape[1],
    }


def command(*arguments):
    from coterie.cli.main import app

    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


short = {"n_clusters": 3, "epochs": 3, "epoch_steps": 5, "guard": "off", "n_neighbors": 0}
results = {
    "methods": list(coterie.METHODS),
    "encoders": list(coterie.ENCODERS),
    "dir": dir(coterie),
    "same class": getattr(coterie, "MyMethod") is coterie.METHODS["my_method"],
    "method": use(coterie.MyMethod(encoder="tfidf", **short)),
    "encoder": use(coterie.KMeans(n_clusters=3, encoder="my_encoder:128")),
    "both": use(coterie.MyMethod(encoder=coterie.make_encoder("my_encoder(length=2)"), **short)),
    "coterie methods": json.loads(command("methods", "--json")),
    "coterie methods my_method": json.loads(command("methods", "my_method", "--json")),
    "coterie encoders": json.loads(command("encoders", "--json")),
    "coterie encoders my_encoder": json.loads(command("encoders", "my_encoder", "--json")),
}
command(
    "cluster", str(folder / "texts.txt"), "-k", "3", "--method", "my_method", "--encoder", "my_encoder:64",
    "--set", "temperature=0.2", "--set", "epochs=1", "--out", str(folder / "out"), "--quiet",
)
results["config"] = json.loads((folder / "out" / "model" / "config.json").read_text())
(folder / "results.json").write_text(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory, topics):
    """What a new interpreter finds, where two folders with one example file each are on the paths of the packages."""
    folder = tmp_path_factory.mktemp("added")
    for kind, name in (("methods", "my_method.py"), ("encoders", "my_encoder.py")):
        (folder / kind).mkdir()
        shutil.copy(EXAMPLES / name, folder / kind)
    (folder / "texts.txt").write_text("\n".join(topics[0]) + "\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "results.json").read_text())


def test_a_method_is_registered_by_its_file(results):
    assert "my_method" in results["methods"]
    assert "kmeans" in results["methods"]
    assert results["same class"]
    assert "MyMethod" in results["dir"]


def test_the_added_method_trains_predicts_saves_and_loads(results, topics):
    used = results["method"]
    losses = [record["classification"] for record in used["history"]]
    assert [record["stage"] for record in used["history"]] == ["classify"] * 3
    assert losses[-1] < losses[0]
    assert used["predicted"] == used["labels"] == used["loaded"]
    assert used["class"] == "MyMethod"
    labels = np.array(used["labels"])
    assert all(len(set(labels[topics[1] == topic])) == 1 for topic in range(3))


@pytest.mark.parametrize(("case", "width"), [("encoder", 128), ("both", 256)])
def test_the_added_encoder_embeds_trains_saves_and_loads(results, case, width):
    assert "my_encoder" in results["encoders"]
    used = results[case]
    assert used["width"] == width
    assert used["predicted"] == used["labels"] == used["loaded"]
    assert set(used["labels"]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("command", "name", "setting"),
    [("coterie methods", "my_method", "temperature"), ("coterie encoders", "my_encoder", "n_features")],
)
def test_the_command_line_lists_what_was_added(results, command, name, setting):
    assert name in [row["name"] for row in results[command]]
    assert setting in [row["setting"] for row in results[f"{command} {name}"]["settings"]]


def test_the_command_line_trains_with_what_was_added(results):
    config = results["config"]
    assert config["method"] == "my_method"
    assert config["params"]["temperature"] == 0.2
    assert config["encoder"]["params"]["n_features"] == 64


def test_the_example_of_a_method_has_the_header_of_a_method():
    source = (EXAMPLES / "my_method.py").read_text(encoding="utf-8")
    assert re.search(r"^Paper: none - Code: this file$", source, flags=re.M)
