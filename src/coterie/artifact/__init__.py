"""Save a model, or an adapted encoder, as a folder, and load it again."""

from coterie.artifact.model import load as load
from coterie.artifact.model import save as save
