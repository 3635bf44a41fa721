"""What a stranger can do to the folder of a model: alter it, and write hashes that fit."""

import json

from safetensors.numpy import load_file, save_file

from coterie.artifact.manifest import write_manifest


def sign(folder):
    """Write the manifest again, as a stranger can."""
    (folder / "manifest.json").unlink()
    write_manifest(folder)


def change(folder, function, *, name="config.json", hashes=True):
    value = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(function(value) or value))
    if hashes and name != "manifest.json":
        sign(folder)


def change_tensors(folder, **changes):
    save_file(load_file(folder / "weights.safetensors") | changes, folder / "weights.safetensors")
    sign(folder)
