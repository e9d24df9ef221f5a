"""The warm-ups of a run: where the rate of each stored series changes for the last time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from bakeoff import settling
from bakeoff.analysis.results import WarmUp
from bakeoff.plan import cell_text
from bakeoff.store import Store
from bakeoff.store.store import canonical, unpack
from bakeoff.store.tables import metrics, series, trials

LABELS = {"phase": "warm-up"}
MOST = 600  # series that are read; of more, every second, third, … one


@dataclass(frozen=True)
class Warming:
    """One trial's warm-up: when each rate was taken (s) and the rates (1/s)."""

    system: str
    cell: dict[str, str]
    times: NDArray[np.float64]
    rates: NDArray[np.float64]


def read(store: Store, run: str) -> list[Warming]:
    """The stored warm-ups of a run's good trials; an even choice of them where there are many."""
    rate = select(metrics.c.id).where((metrics.c.name == "rate") & (metrics.c.labels == canonical(LABELS)))
    joined = trials.join(series, trials.c.id == series.c.trial_id)
    with store.engine.connect() as db:
        kinds = list(db.execute(rate).scalars())
        if not kinds:
            return []
        mine = (trials.c.run_id == run) & (trials.c.status == "ok") & series.c.metric_id.in_(kinds)
        many = db.execute(select(func.count()).select_from(joined).where(mine)).scalar_one()
        number = func.row_number().over(order_by=trials.c.position).label("number")
        numbered = select(series.c.trial_id, series.c.metric_id, number).select_from(joined).where(mine).subquery()
        query = (
            select(trials.c.system, trials.c.cell, series.c.times, series.c["values"])
            .join(trials, trials.c.id == series.c.trial_id)
            .join(numbered, (numbered.c.trial_id == series.c.trial_id) & (numbered.c.metric_id == series.c.metric_id))
            .where(numbered.c.number % max(1, -(-many // MOST)) == 0)
        )
        return [Warming(system, cell, unpack(times), unpack(rates)) for system, cell, times, rates in db.execute(query)]


def settle(warm_ups: list[Warming]) -> list[WarmUp]:
    """What the warm-ups of each system in each cell have in common."""
    groups: dict[tuple[str, str], list[Warming]] = defaultdict(list)
    for one in warm_ups:
        if len(one.rates) >= settling.LEAST:
            groups[one.system, cell_text(one.cell)].append(one)
    return [_group(members) for members in groups.values()]


def _group(members: list[Warming]) -> WarmUp:
    ends, gains, unsettled = [], [], 0
    for one in members:
        places = settling.change_points(one.rates)
        ends.append(float(one.times[places[-1] - 1]) if places else 0.0)
        unsettled += not settling.settled(one.rates.tolist())
        before = float(one.rates[: places[0]].mean()) if places else 0.0
        if before > 0:
            gains.append(float(one.rates[places[-1] :].mean()) / before)
    return WarmUp(
        system=members[0].system,
        cell=members[0].cell,
        series=len(members),
        unsettled=unsettled,
        settled_at=median(ends),
        latest=max(ends),
        length=median(float(one.times[-1]) for one in members),
        gain=median(gains) if gains else None,
    )
