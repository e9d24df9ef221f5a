#!/usr/bin/env python3
"""What the comparison can see, by simulation: the tables of docs/methodology.md, "What simulation says".

    power.py [--times 1000] [--only power|coverage|equal]

Power: how often two systems that differ by 5, 10 or 50% are called faster or slower (and how often equal ones would be)
with 3 to 30 replications and a noise of 1, 3 or 10% (deviation of log-normal values), by the lab's own functions.
Coverage: how often 95% intervals of the median hold the true one. The same seed gives the same table.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap, comparison, summary
from bakeoff.analysis.findings import Group, MetricInfo

TIME = MetricInfo("elapsed", "Elapsed time", "s", "lower")
GROUP = Group("exec", "b", {}, "elapsed", "s")
SIZES = (3, 5, 10, 30)
NOISES = (0.01, 0.03, 0.10)
DIFFERENCES = (0.05, 0.10, 0.50)
SIDES = ("faster", "slower")
Vector = NDArray[np.float64]


def verdicts(n: int, noise: float, difference: float, margins: tuple[float, ...], times: int) -> list[float]:
    """The share of simulated comparisons that name a side, for each equivalence margin."""
    rng = np.random.default_rng([n, round(noise * 1000), round(difference * 1000)])
    seen = [0] * len(margins)
    for _ in range(times):
        theirs, ours = np.exp(rng.normal(0, noise, (2, n)))
        found, _ = comparison.compare(GROUP, "a", (1 + difference) * ours, theirs, 1)
        for i, margin in enumerate(margins):
            seen[i] += comparison.judge([found], TIME, margin)[0].verdict in SIDES
    return [count / times for count in seen]


def power(times: int) -> None:
    """Prints the table of power: a side is named with the margin 5%, and in brackets with 1%."""
    print(f"| noise | difference | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"|---|---|{'---|' * len(SIZES)}")
    for noise in NOISES:
        for difference in DIFFERENCES:
            cells = []
            for n in SIZES:
                wide, narrow = verdicts(n, noise, difference, (0.05, 0.01), times)
                cells.append(f"{wide:.0%} ({narrow:.0%})")
            print(f"| {noise:.0%} | {difference:.0%} | {' | '.join(cells)} |", flush=True)


def equal(times: int) -> None:
    """Prints how often two equal systems are called different."""
    print(f"| noise | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for noise in NOISES:
        cells = []
        for n in SIZES:
            wide, narrow = verdicts(n, noise, 0.0, (0.05, 0.01), times)
            cells.append(f"{wide:.1%} ({narrow:.1%})")
        print(f"| {noise:.0%} | {' | '.join(cells)} |", flush=True)


SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Vector]] = {
    "normal": lambda rng, size: rng.normal(100, 5, size),
    "log-normal": lambda rng, size: 100 * np.exp(rng.normal(0, 0.5, size)),
    "heavy-tailed": lambda rng, size: 100 * np.exp(0.1 * rng.standard_t(2, size)),
}


def coverage(times: int) -> None:
    """Prints the share of 95% intervals of the median that hold the true median, 100."""
    sizes = (5, 10, 30)
    print(f"| data | {' | '.join(f'n = {n}' for n in sizes)} |")
    print(f"|---|{'---|' * len(sizes)}")
    for number, (shape, draw) in enumerate(SHAPES.items()):
        cells = []
        for n in sizes:
            values = draw(np.random.default_rng([number, n]), (times * 10, n))
            bounds = bootstrap.medians_bca(values, 1)
            share = float(np.mean((bounds[:, 0] <= 100) & (bounds[:, 1] >= 100)))
            cells.append(f"{share:.1%}{', low power' if summary.low_power(n) else ''}")
        print(f"| {shape} | {' | '.join(cells)} |", flush=True)


TABLES = {"power": power, "equal": equal, "coverage": coverage}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000, help="simulated comparisons (ten times as many samples)")
    parser.add_argument("--only", choices=TABLES)
    given = parser.parse_args()
    for name, table in TABLES.items():
        if given.only in (None, name):
            print(f"\n{name}, {given.times} simulations\n")
            table(given.times)


if __name__ == "__main__":
    main()
