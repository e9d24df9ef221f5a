"""Geometric means of ratios over cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap
from bakeoff.analysis.findings import Comparison, GeometricMean

Vector = NDArray[np.float64]


def mean(ratios: Vector) -> float:
    """The geometric mean, the right one for ratios (Fleming & Wallace 1986, Comm. ACM 29)."""
    return float(np.exp(np.mean(np.log(ratios))))


def mean_draws(resampled: list[Vector], seed: int) -> Vector:
    """The means over cells of resampled log ratios, shape (draws,); each cell's are shuffled, to be independent."""
    rng = np.random.default_rng([seed, len(resampled)])
    count = min(len(draws) for draws in resampled)
    return np.asarray(np.mean([rng.permutation(draws)[:count] for draws in resampled], axis=0))


def over_cells(pairs: list[tuple[Comparison, Vector | None]], seed: int) -> GeometricMean | None:
    """The geometric mean of one system's ratios over its cells, with a percentile interval; None without two ratios.

    Cells are resampled independently: the resamples that they share are shuffled for each cell.
    """
    usable = [(c, c.ratio, c.ratio_of_means) for c, _ in pairs if c.ratio is not None and c.ratio_of_means is not None]
    if len(usable) < 2:
        return None
    first = usable[0][0]
    low = high = None
    resampled = [draws for _, draws in pairs if draws is not None]
    if len(resampled) == len(usable):
        low, high = (float(np.exp(bound)) for bound in bootstrap.percentile(mean_draws(resampled, seed)))
    return GeometricMean(
        system=first.group.system,
        baseline=first.baseline,
        metric=first.group.metric,
        cells=len(usable),
        ratio=mean(np.array([ratio for _, ratio, _ in usable])),
        low=low,
        high=high,
        mean_of_ratios=float(np.mean([ratio for _, _, ratio in usable])),
    )
