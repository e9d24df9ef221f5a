"""One system against another in a cell of hundreds of replications and more: each sample is put in order once.

`comparison.compare` puts both samples in order for each of its figures. That is nothing for thirty replications; for
thousands it is most of the time, and every sample is compared with every other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap, comparison, ranks
from bakeoff.analysis.findings import Comparison, Group

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Row = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """The values of a group, their logarithms, their blocks (from 1, rising), and the order of the values."""

    values: Vector
    logs: Vector
    blocks: NDArray[np.int32]
    order: Indices
    there: NDArray[np.bool_]  # for each block from 0 on, whether it has a value

    def kept(self, keep: NDArray[np.bool_]) -> Sample:
        """The part of it where `keep` is true."""
        place = np.cumsum(keep) - 1
        order = place[self.order[keep[self.order]]]
        return Sample(self.values[keep], self.logs[keep], self.blocks[keep], order, self.there)


def sample(row: Row) -> Sample:
    """The sample of a row of `summary.rows`, made once: the row keeps it until `forget`."""
    found: Sample | None = row.get("@sample")
    if found is None:
        values, blocks = row["values"], row["blocks"]
        there = np.zeros(int(blocks[-1]) + 1, dtype=bool)
        there[blocks] = True
        with np.errstate(divide="ignore", invalid="ignore"):
            found = row["@sample"] = Sample(values, np.log(values), blocks, np.argsort(values), there)
    return found


def forget(rows: list[Row]) -> None:
    """Lets go of the samples that the rows keep."""
    for row in rows:
        row.pop("@sample", None)


def paired(ours: Sample, theirs: Sample) -> tuple[Sample, Sample]:
    """What lies in the blocks that both have."""
    if np.array_equal(ours.blocks, theirs.blocks):
        return ours, theirs
    last = min(len(ours.there), len(theirs.there))
    both = np.zeros(max(len(ours.there), len(theirs.there)), dtype=bool)
    both[:last] = ours.there[:last] & theirs.there[:last]
    return ours.kept(both[ours.blocks]), theirs.kept(both[theirs.blocks])


def compare(group: Group, row: Row, other: Row, seed: int) -> tuple[Comparison, Vector | None] | None:
    """What `comparison.compare` gives for the blocks that both rows have; None where there are none."""
    ours, theirs = paired(sample(row), sample(other))
    n = len(ours.values)
    if not n:
        return None
    sorted_ones = [one.values[one.order] for one in (ours, theirs)]
    if n <= bootstrap.MOST_COUNTED or min(one[0] for one in sorted_ones) <= 0:
        return comparison.compare(group, other["system"], ours.values, theirs.values, seed)
    resampled = bootstrap.many_log_ratios((ours.values, theirs.values), (ours.order, theirs.order), seed)
    low, high = (float(np.exp(bound)) for bound in bootstrap.percentile(resampled))
    medians = [float(one[(n - 1) // 2] + one[n // 2]) / 2 for one in sorted_ones]
    differences = ours.logs - theirs.logs
    found = Comparison(
        group=group,
        baseline=other["system"],
        pairs=n,
        ratio=medians[0] / medians[1],
        low=low,
        high=high,
        ratio_of_means=float(np.mean(ours.values) / np.mean(theirs.values)),
        delta=comparison.ordered_delta(*sorted_ones),
        test="signed-rank",
        p=ranks.signed_rank(differences) if differences.any() else 1.0,
        p_holm=None,
        verdict="unsure",
        low_power=True,
    )
    return found, resampled
