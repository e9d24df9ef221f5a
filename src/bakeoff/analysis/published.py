"""Published figures as a reference file holds them, read into systems, cells and quantities."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_VERSUS = re.compile(r"^(?P<metric>.+?)_vs_(?P<system>.+)$")
_RANGE = re.compile(r"^\s*(?P<low>[-+.\deE]+)\s*\.\.\s*(?P<high>[-+.\deE]+)\s*$")


@dataclass(frozen=True)
class Published:
    """One published figure. `where` are levels of our factors; `settings` are all other `key=value` of the row.

    `against` is the other system of a ratio. `value` is None where the row holds no number.
    """

    system: str
    where: Mapping[str, str]
    settings: Mapping[str, str]
    metric: str
    against: str | None
    unit: str
    value: float | None
    low: float | None
    high: float | None
    source: str
    text: str = ""
    words: tuple[str, ...] = field(default=())  # of the row's factors that are no `key=value`


def read(rows: list[dict[str, Any]], factors: set[str], metrics: set[str]) -> list[Published]:
    """The rows as figures. Rows that differ only in `replication` become one, their median."""
    grouped: dict[tuple[Any, ...], list[Published]] = defaultdict(list)
    for row in rows:
        figure = _figure(row, factors, metrics)
        settings = {key: value for key, value in figure.settings.items() if key != "replication"}
        own = len(grouped) if "replication" not in figure.settings else -1  # only replications are put together
        key = (
            figure.system, tuple(sorted(figure.where.items())), tuple(sorted(settings.items())), figure.words,
            figure.metric, figure.against, figure.unit, figure.source, own,
        )  # fmt: skip
        grouped[key].append(replace(figure, settings=settings))
    return [_together(figures) for figures in grouped.values()]


def _together(figures: list[Published]) -> Published:
    values = [figure.value for figure in figures if figure.value is not None]
    if len(figures) == 1 or not values:
        return figures[0]
    return replace(
        figures[0],
        value=statistics.median(values),
        low=min(values),
        high=max(values),
        source=f"{figures[0].source}, median of {len(values)}",
    )


def _figure(row: dict[str, Any], factors: set[str], metrics: set[str]) -> Published:
    where: dict[str, str] = {}
    settings: dict[str, str] = {}
    words: list[str] = []
    for word in str(row.get("factors") or "").split():
        key, equals, value = word.partition("=")
        if not equals:
            words.append(word)
        elif key in factors:
            where[key] = value
        else:
            settings[key] = value
    name = str(row.get("metric") or "")
    versus = None if name in metrics else _VERSUS.match(name)
    figure, low, high = _value(str(row.get("value") or ""))
    return Published(
        system=str(row.get("target") or ""),
        where=where,
        settings=settings,
        metric=versus["metric"] if versus else name,
        against=versus["system"] if versus else None,
        unit=str(row.get("unit") or ""),
        value=figure,
        low=_number(str(row.get("low") or "")) if row.get("low") else low,
        high=_number(str(row.get("high") or "")) if row.get("high") else high,
        source=str(row.get("source") or ""),
        text=str(row.get("value") or ""),
        words=tuple(words),
    )


def _value(text: str) -> tuple[float | None, float | None, float | None]:
    """A number with no bounds, or the middle of `a..b` with its bounds."""
    if (between := _RANGE.match(text)) is not None:
        low, high = _number(between["low"]), _number(between["high"])
        return (None, None, None) if low is None or high is None else ((low + high) / 2, low, high)
    return _number(text), None, None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def level_settings(figures: list[Published]) -> dict[tuple[str, str], dict[str, str]]:
    """What the rows say of each level (set=s1 → workers=10); rows that give only the level mean the same."""
    known: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    unclear: set[tuple[tuple[str, str], str]] = set()
    for figure in figures:
        if len(figure.where) != 1:
            continue
        level = next(iter(figure.where.items()))
        for key, value in figure.settings.items():
            if known[level].setdefault(key, value) != value:
                unclear.add((level, key))
    for level, key in unclear:
        del known[level][key]
    return dict(known)
