"""What the analysis concludes, as plain data: `dataclasses.asdict` of any of these is JSON."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from bakeoff.analysis.results import Assessed, Drift, Knee, Ranking, Requirement, Variation, WarmUp
from bakeoff.plan import cell_text

Cell = dict[str, str]

NO_CELL = "this run has no cell "  # begins the reason of a published figure that no cell stands beside
MANY = 12  # cells; with more, answers are put together and tables have levels in columns


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
    published_low: float | None = None  # the bounds that the source gives
    published_high: float | None = None
    placed: bool = False  # it is of one cell of ours, and nothing there is scaled


@dataclass(frozen=True)
class Trend:
    """A straight line through a system's values over one numeric parameter, the others fixed; and a power law.

    y = intercept + slope x, and y = factor x^exponent where all x and y are above zero. `y` are the cells' means.
    """

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
    intercept_low: float | None = None
    intercept_high: float | None = None
    exponent: float | None = None
    exponent_low: float | None = None
    exponent_high: float | None = None
    factor: float | None = None
    power_r_squared: float | None = None  # of the logarithms


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
    key: str | None = None  # of its sources, build commands and tools
    platform: dict[str, Any] | None = None  # what it ran on, where it may stand on several
    size: int | None = None  # bytes of what is shipped


@dataclass(frozen=True)
class LeftOut:
    """Trials of one system in one cell that no figure counts, and why."""

    system: str
    cell: Cell
    procedure: str
    status: str  # the trial's status, `flagged` or `warm-up`
    count: int
    reason: str
    step: bool = False  # of steps, where the trials themselves count


@dataclass(frozen=True)
class FlagCount:
    """One validity flag of the run: what it means, and how many trials and steps have it."""

    flag: str
    meaning: str
    excludes: bool  # a flagged trial or step is left out
    trials: int  # with a flag of the whole trial
    of_trials: int
    steps: int
    of_steps: int


@dataclass(frozen=True)
class FigureSpec:
    """A chart that the experiment asks for. Without `x` it has a row a system, with it a line a system."""

    title: str
    metric: str
    x: str | None
    where: dict[str, list[str]]
    systems: list[str] | None
    note: str

    def shows(self, cell: Cell) -> bool:
        """Whether a cell belongs to the chart; `where` may also name systems, which no cell has."""
        return all(cell.get(factor) in levels for factor, levels in self.where.items() if factor != "system")

    def has(self, system: str) -> bool:
        """Whether a system belongs to the chart."""
        named = self.where.get("system")
        return (self.systems is None or system in self.systems) and (named is None or system in named)


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
    figures: list[FigureSpec] = field(default_factory=list)
    flags: list[FlagCount] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)
    variation: Variation | None = None
    drift: Drift | None = None
    warm_ups: list[WarmUp] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    knees: list[Knee] = field(default_factory=list)
    assessment: list[Assessed] = field(default_factory=list)
    passed_on: list[str] = field(default_factory=list)  # parameters that other levels hand on under names of their own

    @property
    def many(self) -> bool:
        """Whether there are so many cells that a line for each would make a page unusable."""
        return len(self.cells) > MANY

    @cached_property
    def kind(self) -> str:
        """The procedure that answers the question."""
        return str(self.procedure.get("procedure", {}).get("kind", ""))

    @cached_property
    def procedure_of(self) -> dict[str, str]:
        """The procedure whose trials give a metric's figures: the main one if it observes the metric, else another."""
        found: dict[str, str] = {}
        for s in self.summaries:
            if not s.group.labels and found.get(s.group.metric) != self.kind:
                found[s.group.metric] = s.group.procedure
        return found

    @cached_property
    def summaries_of(self) -> dict[str, dict[tuple[str, str], Summary]]:
        """The summaries without labels of each metric's procedure, by metric, then by system and text of the cell."""
        found: dict[str, dict[tuple[str, str], Summary]] = defaultdict(dict)
        for s in self.summaries:
            if s.group.procedure == self.procedure_of.get(s.group.metric) and not s.group.labels:
                found[s.group.metric][s.group.system, cell_text(s.group.cell)] = s
        return dict(found)

    @cached_property
    def comparisons_of(self) -> dict[str, dict[tuple[str, str], Comparison]]:
        """The comparisons with the experiment's baseline, likewise."""
        found: dict[str, dict[tuple[str, str], Comparison]] = defaultdict(dict)
        for c in self.comparisons:
            if c.group.procedure == self.procedure_of.get(c.group.metric) and c.baseline == self.baseline:
                found[c.group.metric][c.group.system, cell_text(c.group.cell)] = c
        return dict(found)

    @cached_property
    def left_out_of(self) -> dict[tuple[str, str], list[LeftOut]]:
        """What was left out, by procedure and system."""
        found: dict[tuple[str, str], list[LeftOut]] = defaultdict(list)
        for one in self.left_out:
            found[one.procedure, one.system].append(one)
        return dict(found)

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The parameters that are the same in all cells, where there are several cells."""
        every = [self.parameters.get(cell_text(cell), {}) for cell in self.cells]
        if len(every) < 2:
            return {}
        return {key: value for key, value in every[0].items() if all(p.get(key) == value for p in every)}

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
