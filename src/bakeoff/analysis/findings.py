"""What the analysis concludes, as plain data: `dataclasses.asdict` of any of these is JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Cell = dict[str, str]


@dataclass(frozen=True)
class MetricInfo:
    """One metric as the experiment words it. `better` is lower, higher or neither; `scale` linear, log or None."""

    name: str
    title: str
    unit: str
    better: str
    scale: str | None = None
    derived: str | None = None  # its formula
    declared: bool = True  # named by the experiment


@dataclass(frozen=True)
class Group:
    """What a figure belongs to: one system in one cell, one metric with its labels."""

    procedure: str
    system: str
    cell: Cell
    metric: str
    unit: str
    labels: str = ""


@dataclass(frozen=True)
class Summary:
    """One system in one cell: n replications and what they have in common, in the metric's unit.

    `low` and `high` bound the median with 95% confidence; None where n is below 2.
    """

    group: Group
    n: int
    median: float
    q1: float
    q3: float
    mean: float
    sd: float | None
    low: float | None
    high: float | None
    low_power: bool


@dataclass(frozen=True)
class Comparison:
    """One system against another in one cell.

    `ratio` is this one's median over the other's; None unless both are above 0.
    """

    group: Group
    baseline: str
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None
    ratio_of_means: float | None
    delta: float  # Cliff's delta, -1 to 1
    test: str
    p: float | None
    p_holm: float | None
    verdict: str
    low_power: bool


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean of a system's ratios to the baseline over all cells that both have."""

    system: str
    baseline: str
    metric: str
    cells: int
    ratio: float
    low: float | None
    high: float | None
    mean_of_ratios: float  # arithmetic, of the ratios of means


@dataclass(frozen=True)
class Reference:
    """A published figure beside ours. `ratio` is ours over published; `kind` is value, ratio or trend."""

    system: str
    cell: str
    metric: str
    kind: str
    against: str | None  # the baseline of a ratio
    unit: str
    published: float
    source: str
    ours: float | None
    low: float | None
    high: float | None
    ratio: float | None
    direction_agrees: bool | None
    size_agrees: bool | None
    verdict: str  # reproduced, same direction, contradicted, not comparable
    reason: str


@dataclass(frozen=True)
class Trend:
    """A straight line through a system's means over one numeric parameter, the others fixed."""

    system: str
    metric: str
    unit: str
    parameter: str
    fixed: dict[str, float]
    x: list[float]
    y: list[float]
    slope: float
    slope_low: float | None
    slope_high: float | None
    intercept: float
    r_squared: float | None


@dataclass(frozen=True)
class SystemState:
    """One system of the run: ready, or unavailable with the reason."""

    name: str
    title: str
    about: str
    status: str
    reason: str | None
    version: str | None
    tools: dict[str, Any]


@dataclass(frozen=True)
class LeftOut:
    """Trials of one system in one cell that no figure counts, and why."""

    system: str
    cell: Cell
    procedure: str
    status: str  # the trial's status, `flagged` or `warm-up`
    count: int
    reason: str


@dataclass(frozen=True)
class Conditions:
    """How quiet the host was: the share of CPU time that went to other guests (0 to 1), and the one-minute load."""

    trials: int
    stolen_median: float | None
    stolen_max: float | None
    load_median: float | None
    load_max: float | None


@dataclass(frozen=True)
class Analysis:
    """All that is concluded from one run."""

    run: dict[str, Any]
    title: str
    question: str
    about: str
    scaled: str | None
    baseline: str | None
    primary: str
    equivalence: float
    counts: dict[str, int]
    metrics: dict[str, MetricInfo]
    factors: dict[str, str]  # name → title
    parameters: dict[str, dict[str, Any]]  # text of a cell → its parameters
    cells: list[Cell]
    systems: list[SystemState]
    summaries: list[Summary]
    comparisons: list[Comparison]
    means: list[GeometricMean]
    trends: list[Trend]
    references: list[Reference]
    left_out: list[LeftOut]
    conditions: Conditions
    procedure: dict[str, Any] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
