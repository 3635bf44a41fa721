"""Labeled data sets for experiments: ``load("helpdesk")`` returns one, ``DATASETS`` lists all.

Every module of this package that registers a :class:`DatasetEntry` adds data sets; nothing else must be changed.
Other packages add data sets with an entry point in the group ``coterie.datasets``.
"""

from coterie.datasets.dataset import DATASETS, Dataset, load

__all__ = ["DATASETS", "Dataset", "load"]
