"""Whether a difference between two runs is more than noise: paired bootstrap over data sets and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.wording import count

N_RESAMPLES = 2000
_LEVEL = 95  # percent of the resamples in the interval
_MIN_PAIRS = 4  # fewer pairs of one sign would never include zero


@dataclass(frozen=True)
class Difference:
    """A mean difference and its interval; the interval is None for very few pairs."""

    mean: float
    interval: tuple[float, float] | None
    n_pairs: int

    @property
    def is_noise(self) -> bool:
        """Whether zero is in the interval, or there is none."""
        return self.interval is None or self.interval[0] <= 0 <= self.interval[1]

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.mean:+.1f} ({count(self.n_pairs, 'pairs')})"
        text = f"{self.mean:+.1f} [{self.interval[0]:+.1f}, {self.interval[1]:+.1f}]"
        return f"{text} noise" if self.is_noise else text


def difference(pairs: Mapping[str, Sequence[float]], *, seed: int = 0) -> Difference | None:
    """Return the mean of paired differences, a list over seeds for each data set, and its 95 % interval.

    Data sets are resampled, and within each the seeds: a data set counts once, however many seeds it has.
    """
    values = [np.asarray(seeds, dtype=float) for seeds in pairs.values() if len(seeds)]
    n_pairs = sum(map(len, values))
    if not values:
        return None
    mean = float(np.mean([seeds.mean() for seeds in values]))
    if n_pairs < _MIN_PAIRS:
        return Difference(mean, None, n_pairs)
    resampled = _resample(values, np.random.default_rng(seed))
    tail = (100 - _LEVEL) / 2
    low, high = np.percentile(resampled, [tail, 100 - tail])
    return Difference(mean, (float(low), float(high)), n_pairs)


def _resample(values: Sequence[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the mean difference (R,) of every resample."""
    shape = (N_RESAMPLES, len(values))
    seeds = [rng.choice(of_set, size=(*shape, len(of_set))).mean(axis=2) for of_set in values]  # each (R, sets)
    chosen = rng.integers(len(values), size=shape)
    means: NDArray[np.float64] = np.take_along_axis(np.stack(seeds), chosen[None], axis=0)[0].mean(axis=1)
    return means
