"""What the further methods conclude, as plain data: ranks, variation, drift, requirements, knees, marks."""

from __future__ import annotations

from dataclasses import dataclass, field

Cell = dict[str, str]


@dataclass(frozen=True)
class Pair:
    """Two systems of one cell: `ratio` is `system`'s median over `other`'s; the verdict is about `system`."""

    system: str
    other: str
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None
    delta: float  # Cliff's delta, -1 to 1
    test: str
    p: float | None
    p_holm: float | None  # over the pairs of the cell
    verdict: str
    low_power: bool


@dataclass(frozen=True)
class Ranked:
    """A system's place: 1 + how many systems are better for sure. Systems that share a letter are not told apart."""

    system: str
    n: int
    median: float
    rank: int
    letters: str


@dataclass(frozen=True)
class Ranking:
    """All systems of one cell in one metric, the best rank first, and all their pairs."""

    metric: str
    cell: Cell
    systems: list[Ranked]
    pairs: list[Pair]

    @property
    def low_power(self) -> bool:
        """Whether any two systems had too few replications to be told apart by the test alone."""
        return any(pair.low_power for pair in self.pairs)


@dataclass(frozen=True)
class Share:
    """One source of variation: its sum of squares, degrees of freedom, and share of all variation (0 to 1)."""

    source: str
    squares: float
    freedom: int
    share: float


@dataclass(frozen=True)
class Variation:
    """Where the variation of one metric comes from. The response is its natural logarithm."""

    metric: str
    observations: int
    cells: int
    empty: int  # combinations of levels without a value
    balanced: bool
    shares: list[Share]
    block_deviation: float | None  # standard deviation of the blocks, as a share of the value; None where not estimable
    start_deviation: float | None  # of the starts within a block, where a trial has several steps
    noise_deviation: float | None  # of what is left


@dataclass(frozen=True)
class Drift:
    """A trend of the main metric over the run: each trial's value over its cell's median, in the order of the trials.

    `change` is the change from the first trial to the last, as a share (0.02 is 2% more); `left` is what is left of it
    when each block is taken relative to its own level. `points` are the middle of up to 60 groups of trials.
    """

    metric: str
    trials: int
    blocks: int
    start: float  # what the trend is at the first trial, as a share
    change: float
    low: float | None
    high: float | None
    left: float | None
    left_low: float | None
    left_high: float | None
    noise: float  # standard deviation of the log residuals
    noise_within: float | None  # the same within blocks
    points: list[tuple[float, float, float, float]] = field(default_factory=list)  # order, low quartile, median, high


@dataclass(frozen=True)
class WarmUp:
    """The warm-ups of one system in one cell, from the series that trials stored.

    `settled_at` is when the last change point lies (s, median over trials; 0 where there is none), `from_rate` and
    `to_rate` the rates before the first and after the last one.
    """

    system: str
    cell: Cell
    series: int
    unsettled: int
    settled_at: float
    latest: float
    length: float  # s, median
    gain: float | None  # rate after the last change point over the rate before the first, median


@dataclass(frozen=True)
class Judged:
    """A requirement on one system in one cell. `margin` is how far the median is inside the bound, in its unit."""

    system: str
    cell: Cell
    n: int
    median: float | None
    low: float | None
    high: float | None
    margin: float | None
    share: float | None  # the margin over the bound; None for a bound of 0
    verdict: str  # pass, fail, unsure
    reason: str


@dataclass(frozen=True)
class Requirement:
    """A requirement with its verdict for each system: pass if all its cells pass, fail if one fails, else unsure."""

    title: str
    metric: str
    unit: str
    bound: str  # at most, at least
    limit: float
    verdicts: dict[str, str]
    judged: list[Judged]


@dataclass(frozen=True)
class Knee:
    """Up to where one system holds a bound. Levels are those of `over`, numbers as the experiment writes them.

    `sure` is the highest level up to which it holds everywhere for sure (None: not even at the lowest), `possible` the
    highest that cannot be ruled out. `open` says that the bound still held at the highest level tried.
    """

    title: str
    system: str
    cell: Cell  # the other levels
    over: str
    metric: str
    bound: str
    limit: float
    sure: float | None
    possible: float | None
    open: bool
    throughput: float | None  # median at the level `sure`, 1/s
    reason: str


@dataclass(frozen=True)
class Mark:
    """A system's mark for one criterion. `ratio` is how many times worse than the best (1 for the best itself)."""

    criterion: str
    system: str
    mark: str | None
    best: str | None  # the marks at the ends of the interval
    worst: str | None
    ratio: float | None
    low: float | None
    high: float | None
    cells: int
    of_cells: int
    published: str | None
    reason: str


@dataclass(frozen=True)
class Assessed:
    """One criterion: its rule, and each system's mark."""

    criterion: str
    title: str
    rule: str
    marks: list[Mark]
