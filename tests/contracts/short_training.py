"""Models with short trainings: a fit takes a fraction of a second."""

from coterie.clusterer import METHODS
from coterie.deep import DeepClusterer

SHORT = {"epochs": 2, "epoch_steps": 2, "max_steps": 3, "init": "kmeans"}
SMALL = {"width": 30}  # of the networks of methods that have this setting
DEEP_METHODS = {name: cls for name, cls in METHODS.items() if issubclass(cls, DeepClusterer)}


def short(cls, **settings):
    """Return an unfitted model of a method; one that trains does so for three steps."""
    training = SHORT if issubclass(cls, DeepClusterer) else {}
    small = {name: value for name, value in SMALL.items() if hasattr(cls, name)}
    n_clusters = "auto" if cls.finds_n_clusters else 3
    return cls(**{"n_clusters": n_clusters, "encoder": "tfidf", **training, **small} | settings)
