"""Allocation of variation: how much of the main metric's variation each factor, interaction and block stands for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bakeoff.analysis.results import Share, Variation

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]
Term = tuple[str, float, int]  # name, sum of squares, degrees of freedom
MOST_COLUMNS = 600  # of an unbalanced design; with more, interactions are not told apart
MOST_BLOCKS = 1_500  # of an unbalanced design
MOST_LEVELS = 1_000  # of all factors of an unbalanced design together; of more nothing is allocated
MOST_NUMBERS = 20_000_000  # in one matrix
STARTS = "starts of a system"
OVERLAP = "not to be told apart (unbalanced)"


def allocate(samples: pl.DataFrame, factors: list[str], steps: list[str], metric: str) -> Variation | None:
    """Allocates the variation of the logarithm of a metric's counted values.

    `samples` has the counted values of one metric without labels, all above zero or there is no result. After Jain
    1991, The Art of Computer Systems Performance Analysis, ch. 18 to 22: the total sum of squares around the mean is
    that of the cells (factors and interactions) plus that of the blocks plus the rest. Blocks are a random effect
    (`_deviations`).
    """
    used = [name for name in ["system", *factors] if samples[name].n_unique() > 1]
    if len(samples) < 3 or not used or (samples["value"] <= 0).any():
        return None
    frame = samples.with_columns(pl.col("value").log().alias("y"))
    cell = frame.group_by(used, maintain_order=True).agg(pl.len().alias("n"), pl.col("y").mean().alias("mean"))
    frame = frame.join(cell.with_row_index("cell").select(*used, "cell"), on=used, nulls_equal=True)
    codes = {name: numbered(cell, [name]) for name in used}
    n, means = cell["n"].to_numpy().astype(np.float64), cell["mean"].to_numpy()
    y, of = frame["y"].to_numpy(), frame["cell"].to_numpy().astype(np.int64)
    total = float(np.sum((y - y.mean()) ** 2))
    wide = sum(int(levels.max()) for levels in codes.values())
    if total == 0 or (not balanced(n, codes) and (wide > MOST_LEVELS or wide * len(cell) > MOST_NUMBERS)):
        return None
    trial_factors = [name for name in used if name not in steps]
    kinds = frame.select(trial_factors).n_unique() if trial_factors else 1
    trials = numbered(frame, ["trial"]) if len(trial_factors) < len(used) else None
    blocks = numbered(frame, ["block"])
    terms = factorial(means, n, codes)
    terms += _random(y - means[of], Design(of, blocks, trials, kinds), len(y) - len(cell))
    block_deviation, start_deviation, noise_deviation = _deviations(terms, blocks, frame)
    return Variation(
        metric=metric,
        observations=len(y),
        cells=len(cell),
        empty=int(np.prod([level.max() + 1 for level in codes.values()])) - len(cell),
        balanced=balanced(n, codes),
        shares=[Share(name, squares, freedom, squares / total) for name, squares, freedom in terms],
        block_deviation=block_deviation,
        start_deviation=start_deviation,
        noise_deviation=noise_deviation,
    )


@dataclass(frozen=True)
class Design:
    """Where each value belongs: its cell, its block, and its trial where a trial has several; kinds of trials."""

    cell: Codes
    block: Codes
    trial: Codes | None
    kinds: int


def _random(residuals: Vector, design: Design, freedom: int) -> list[Term]:
    """What is left within the cells: of blocks, of starts where a trial has several steps, and the rest."""
    terms = []
    if design.block.max() > 0:
        terms.append(("blocks", *block_squares(residuals, design.cell, design.block)))
    if design.trial is not None:
        terms.append((STARTS, *_start_squares(residuals, design.block, design.trial, design.kinds)))
    left = float(np.sum(residuals**2)) - sum(squares for _, squares, _ in terms)
    return [*terms, ("rest", max(left, 0.0), max(freedom - sum(used for *_, used in terms), 0))]


def factorial(means: Vector, n: Vector, codes: dict[str, Codes]) -> list[Term]:
    """The sums of squares between cells by main effects and interactions of two, and the rest of the interactions.

    `means` and `n` are of the cells, `codes` the level of each cell by factor. Each term is what it adds to all terms
    that do not contain it (type II, Yates 1934, J. Am. Stat. Assoc. 29). In a balanced design that is Jain's SSA,
    SSB, SSAB; in an unbalanced one the terms overlap, and what they do not add up to is a line of its own.
    """
    grand = float(np.sum(means * n) / n.sum())
    cells_squares = float(np.sum(n * (means - grand) ** 2))
    terms: list[tuple[str, ...]] = [(name,) for name in codes]
    both = list(combinations(codes, 2))
    whole = balanced(n, codes)
    columns = sum(int(codes[a].max() * codes[b].max()) for a, b in both) + sum(int(c.max()) for c in codes.values())
    if whole or (columns <= MOST_COLUMNS and columns * len(means) <= MOST_NUMBERS):
        terms += both
    if whole:
        found = _marginal(means - grand, float(n[0]), codes, terms)
        rank = 1 + sum(freedom for *_, freedom in found)
        explained = sum(squares for _, squares, _ in found)
    else:
        found, explained, rank = _type_two(means - grand, n, codes, terms)
    overlap = explained - sum(squares for _, squares, _ in found)
    if abs(overlap) > 1e-9 * cells_squares:
        found.append((OVERLAP, overlap, rank - 1 - sum(freedom for *_, freedom in found)))
    if len(means) > rank:
        name = "interactions of more factors" if len(terms) > len(codes) else "interactions"
        found.append((name, max(cells_squares - explained, 0.0), len(means) - rank))
    return found


def _marginal(means: Vector, n: float, codes: dict[str, Codes], terms: list[tuple[str, ...]]) -> list[Term]:
    """The terms of a balanced design from the means over the other factors (Jain sec. 21.5 and 22.5)."""
    places = np.lexsort([codes[name] for name in reversed(codes)])
    table = means[places].reshape([int(codes[name].max()) + 1 for name in codes])
    axes = {name: axis for axis, name in enumerate(codes)}
    effects: dict[tuple[str, ...], Vector] = {}
    found = []
    for term in terms:
        others = tuple(axis for name, axis in axes.items() if name not in term)
        effect = table.mean(axis=others, keepdims=True)
        for below, known in effects.items():
            if set(below) < set(term):
                effect = effect - known
        effects[term] = effect
        freedom = int(np.prod([table.shape[axes[name]] - 1 for name in term]))
        found.append((" × ".join(term), float(np.sum(effect**2)) * n * table.size / effect.size, freedom))
    return found


def _type_two(
    means: Vector, n: Vector, codes: dict[str, Codes], terms: list[tuple[str, ...]]
) -> tuple[list[Term], float, int]:
    """The terms of an unbalanced design by least squares; what all explain together, and the model's rank."""
    blocks = [np.ones((len(means), 1)), *(_columns(term, codes) for term in terms)]
    design = np.hstack(blocks) * np.sqrt(n)[:, None]
    ends = np.cumsum([block.shape[1] for block in blocks])
    places = {term: range(int(ends[i]), int(ends[i + 1])) for i, term in enumerate(terms)}
    gram, right = design.T @ design, design.T @ (means * np.sqrt(n))

    def explained(chosen: list[tuple[str, ...]]) -> tuple[float, int]:
        which = [0, *(place for term in chosen for place in places[term])]
        return _solved(gram[np.ix_(which, which)], right[which])

    found = []
    for term in terms:
        others = [other for other in terms if not set(term) <= set(other)]
        (squares, rank), (below, less) = explained([*others, term]), explained(others)
        found.append((" × ".join(term), max(squares - below, 0.0), rank - less))
    return found, *explained(terms)


def balanced(n: Vector, codes: dict[str, Codes]) -> bool:
    """Whether every combination of levels is there, equally often."""
    return bool((n == n[0]).all()) and len(n) == int(np.prod([code.max() + 1 for code in codes.values()]))


def block_squares(residuals: Vector, cell: Codes, block: Codes) -> tuple[float, int]:
    """What blocks explain beyond the cells: sum of squares and degrees of freedom.

    `residuals` are deviations from the cell's mean. Blocks and cells need not be crossed completely: the normal
    equations of the additive model are solved (Searle 1987, Linear Models for Unbalanced Data, ch. 4).
    """
    cells, blocks = int(cell.max()) + 1, int(block.max()) + 1
    right: Vector = np.bincount(block, weights=residuals, minlength=blocks).astype(np.float64)
    per_block = np.bincount(block, minlength=blocks)
    few = blocks <= MOST_BLOCKS and cells * blocks <= MOST_NUMBERS
    if len(cell) == cells * blocks or not few:  # complete, or so many that a few missing trials are little
        return float(np.sum(right**2 / per_block)), blocks - 1
    counts = np.bincount(cell * blocks + block, minlength=cells * blocks).reshape(cells, blocks).astype(np.float64)
    per_cell = counts.sum(axis=1)
    left = np.diag(counts.sum(axis=0)) - counts.T @ (counts / per_cell[:, None])
    return _solved(left[:-1, :-1], right[:-1])  # the last block is what the others are against


def _solved(left: Vector, right: Vector) -> tuple[float, int]:
    """b' A^-1 b of normal equations A x = b, and the rank of A; over its range where A is singular."""
    try:
        root = np.linalg.cholesky(left)
    except np.linalg.LinAlgError:
        root = np.zeros((1, 1))
    sizes = np.diag(root)
    if sizes.min() > 1e-5 * sizes.max() > 0:  # Cholesky takes a hundredth of the time
        return float(np.sum(solve_triangular(root, right, lower=True) ** 2)), len(left)
    values, vectors = np.linalg.eigh(left)
    kept = values > 1e-10 * max(float(values[-1]), 1e-300)
    return float(np.sum((vectors[:, kept].T @ right) ** 2 / values[kept])), int(kept.sum())


def _start_squares(residuals: Vector, block: Codes, trial: Codes, kinds: int) -> tuple[float, int]:
    """Between the trials of a block, whose steps share one start of the system; blocks are taken out first.

    `kinds` is how many kinds of trials there are: their means are the cells', and count there.
    """
    count = np.bincount(block)
    inner = residuals - (np.bincount(block, weights=residuals) / count)[block]
    n = np.bincount(trial)
    sums = np.bincount(trial, weights=inner)
    return float(np.sum(sums**2 / n)), max(len(n) - len(count) - kinds + 1, 0)


def _deviations(
    shares: list[Term], block: Codes, frame: pl.DataFrame
) -> tuple[float | None, float | None, float | None]:
    """Standard deviations of blocks, of starts within a block, and of the rest: each a share of the value.

    Estimated from the mean squares (Jain ch. 20; Searle, Casella & McCulloch 1992, Variance Components, sec. 4.2); in
    complete blocks that is the REML estimate, as long as none would be negative. Log-normal: exp(s) - 1.
    """
    squares = {name: (found, freedom) for name, found, freedom in shares}

    def mean(name: str) -> float | None:
        found, freedom = squares.get(name, (0.0, 0))
        return found / freedom if freedom > 0 else None

    rest, starts, blocks = mean("rest"), mean(STARTS), mean("blocks")
    noise = starts if starts is not None else rest
    per_block = len(block) / (int(block.max()) + 1)
    per_trial = len(frame) / frame["trial"].n_unique()

    def deviation(larger: float | None, smaller: float | None, size: float) -> float | None:
        if larger is None or smaller is None:
            return None
        return float(np.expm1(np.sqrt(max(larger - smaller, 0.0) / size)))

    return (
        deviation(blocks, noise, per_block),
        deviation(starts, rest, per_trial),
        None if rest is None else float(np.expm1(np.sqrt(rest))),
    )


def _columns(term: tuple[str, ...], codes: dict[str, Codes]) -> Vector:
    """Indicator columns of a term, with deviations coded so that the levels of each factor sum to 0."""
    columns = np.ones((len(next(iter(codes.values()))), 1))
    for name in term:
        levels = int(codes[name].max()) + 1
        own = np.eye(levels)[codes[name]][:, :-1] - (codes[name] == levels - 1)[:, None]
        columns = np.einsum("ij,ik->ijk", columns, own).reshape(len(columns), -1)
    return columns


def numbered(frame: pl.DataFrame, columns: list[str]) -> Codes:
    """The combinations of values of some columns as numbers from 0 on, shape (rows,)."""
    known = frame.select(columns).unique(maintain_order=True).with_row_index("@code")
    both = frame.select(columns).join(known, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return both["@code"].to_numpy().astype(np.int64)
