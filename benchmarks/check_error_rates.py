"""How often `bakeoff check` fails two equal runs, and how often it sees a regression of 10%: by simulation.

    python benchmarks/check_error_rates.py --pairs 2000 --seed 1

Each pair is two runs of log-normal values with a coefficient of variation (noise), judged by the rule `> +5%` as
`bakeoff check` does, in one cell or in several. `drift` is the deviation of a whole run, which its replications do not
show: another day, another layout of memory. Prints one line a case, as Markdown.
"""

from __future__ import annotations

import argparse

import numpy as np

from bakeoff.analysis.findings import Group
from bakeoff.analysis.judgement import of_change, settle
from bakeoff.analysis.rules import parse

GROUP = Group("exec", "a", {}, "elapsed", "s")
RULE = parse("elapsed > +5%")
CASES = [  # replications, noise, drift, cells
    *((n, noise, 0.0, 1) for n in (3, 5, 7, 10, 20) for noise in (0.02, 0.05, 0.15)),
    *((n, noise, 0.0, 12) for n in (5, 10) for noise in (0.02, 0.05)),
    *((10, 0.02, drift, 1) for drift in (0.01, 0.02, 0.05)),
]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    heads = ["n", "noise", "drift", "cells", "equal: fails", "equal: unsure", "+10%: fails", "+10%: unsure"]
    print("| " + " | ".join(heads) + " |\n" + "|---:" * len(heads) + "|")
    for case in CASES:
        rng = np.random.default_rng([asked.seed, *(round(1000 * value) for value in case)])
        equal = rates(rng, case, 1.0, asked.pairs)
        worse = rates(rng, case, 1.1, asked.pairs)
        n, noise, drift, cells = case
        print(
            f"| {n} | {noise:.0%} | {drift:.0%} | {cells} | " + " | ".join(f"{r:.1%}" for r in (*equal, *worse)) + " |"
        )


def rates(
    rng: np.random.Generator, case: tuple[int, float, float, int], slower: float, pairs: int
) -> tuple[float, float]:
    """The shares of checks that fail, and that are unsure without failing. A regression is in the first cell only."""
    n, noise, drift, cells = case
    fails = unsure = 0
    for _ in range(pairs):
        runs = np.exp(rng.normal(0, drift, 2)) if drift else np.ones(2)
        tested = []
        for cell in range(cells):
            old = runs[0] * rng.lognormal(0, noise, n)
            new = runs[1] * rng.lognormal(0, noise, n) * (slower if cell == 0 else 1.0)
            tested.append(of_change(RULE, GROUP, old, new, seed=1))
        outcomes = {one.outcome for one in settle(tested)}
        fails += "fail" in outcomes
        unsure += "fail" not in outcomes and "unsure" in outcomes
    return fails / pairs, unsure / pairs


if __name__ == "__main__":
    main()
