"""What no figure counts, and why; and how quiet the host was."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis.findings import Conditions, FlagCount, LeftOut
from bakeoff.flags import FLAGS, excludes


def left_out(trials: pl.DataFrame, factors: list[str], flagged_steps: pl.DataFrame) -> list[LeftOut]:
    """Attempts and steps that are not counted, put together by system, cell, status and reason."""
    status = (
        pl.when(pl.col("status") != "ok")
        .then(pl.col("status").cast(pl.String))
        .when(pl.col("flags").is_not_null())
        .then(pl.lit("flagged"))
        .when(pl.col("warm_up"))
        .then(pl.lit("warm-up"))
        .otherwise(pl.lit("repeated"))
    )
    reason = (
        pl.when(pl.col("status") == "planned")
        .then(pl.lit("not run yet"))
        .when(pl.col("status") != "ok")
        .then(pl.col("reason"))
        .when(pl.col("flags").is_not_null())
        .then(pl.col("flag_details"))
        .when(pl.col("warm_up"))
        .then(pl.lit("run first and left out, as the experiment says"))
        .otherwise(pl.lit("a later attempt took its place"))
        .fill_null("")
    )
    keys = ["system", "procedure", *factors, "kept", "why"]
    whole = trials.filter(~pl.col("counted")).with_columns(status.alias("kept"), reason.alias("why"))
    steps = trials.filter("counted").drop("flags", "flag_details").join(flagged_steps, on="trial")
    steps = steps.with_columns(pl.lit("flagged").alias("kept"), pl.col("flag_details").alias("why"))
    names = [*factors, *(name for name in flagged_steps.columns if name not in ("trial", "flags", "flag_details"))]
    return _counted(whole, keys, factors, False) + _counted(steps, [*keys, *names[len(factors) :]], names, True)


def _counted(frame: pl.DataFrame, keys: list[str], factors: list[str], step: bool) -> list[LeftOut]:
    frame = frame.group_by(keys, maintain_order=True).agg(pl.len().alias("@count"))  # no factor's name
    return [
        LeftOut(
            system=row["system"],
            cell={name: row[name] for name in factors if row[name] is not None},
            procedure=row["procedure"],
            status=row["kept"],
            count=row["@count"],
            reason=row["why"],
            step=step,
        )
        for row in frame.iter_rows(named=True)
    ]


def flag_counts(flags: pl.DataFrame, trials: pl.DataFrame, samples: pl.DataFrame, steps: list[str]) -> list[FlagCount]:
    """How many of the trials that ended well, and of their steps, have each flag; those that exclude come first."""
    ended = trials.filter((pl.col("status") == "ok") & ~pl.col("warm_up") & pl.col("last"))
    mine = flags.join(ended.select("trial"), on="trial", how="semi")
    of_steps = _steps(samples, ended, steps) if steps else 0
    found = [
        FlagCount(
            flag=name,
            meaning=FLAGS[name].meaning if name in FLAGS else "a flag that this version does not know",
            excludes=excludes(name),
            trials=one.filter("whole")["trial"].n_unique(),
            of_trials=ended.height,
            steps=one.filter(~pl.col("whole")).select("trial", *steps).unique().height,
            of_steps=of_steps,
        )
        for (name,), one in mine.group_by(["flag"], maintain_order=True)
    ]
    return sorted(found, key=lambda one: (not one.excludes, one.flag))


def _steps(samples: pl.DataFrame, ended: pl.DataFrame, steps: list[str]) -> int:
    """How many steps of these trials have given any number."""
    some = samples.select("trial", *steps).filter(pl.any_horizontal(pl.col(steps).is_not_null()))
    return some.join(ended.select("trial"), on="trial", how="semi").unique().height


def conditions(samples: pl.DataFrame, states: list[tuple[str, dict[str, Any]]]) -> Conditions:
    """Stolen CPU time (share, 0 to 1) over the trials, and the load before each."""
    stolen = samples.lazy().filter(pl.col("metric") == "stolen_cpu").select("value").collect()["value"]
    loads = [float(facts["load"][0]) for moment, facts in states if moment == "before" and facts.get("load")]
    return Conditions(
        trials=max(len(stolen), len(loads)),
        stolen_median=float(np.median(stolen)) if len(stolen) else None,
        stolen_max=float(stolen.to_numpy().max()) if len(stolen) else None,
        load_median=statistics.median(loads) if loads else None,
        load_max=max(loads, default=None),
    )
