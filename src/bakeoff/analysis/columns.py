"""Named columns: texts of few kinds as numbers with names (pl.Enum), so that a row takes few bytes."""

from __future__ import annotations

import polars as pl


def named(texts: pl.Series, known: list[str] | None = None) -> pl.Series:
    """Texts as numbers with names, one or two bytes each; `known` names come first."""
    found = texts.unique().drop_nulls().cast(pl.String).sort().to_list()
    return texts.cast(pl.String).cast(pl.Enum(list(dict.fromkeys([*(known or []), *found]))))


def append(frame: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The frame with more rows, of which its own columns are taken."""
    return joined([frame, rows.select(frame.columns)])


def joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Frames one after another; a named column has the names of all, a column that one lacks is null there."""
    if len(frames) == 1:
        return frames[0]
    known: dict[str, dict[str, None]] = {}
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        parts = [frame[name] for frame in frames if name in frame.columns]
        if any(isinstance(part.dtype, pl.Enum) for part in parts):
            known[name] = dict.fromkeys(text for part in parts for text in _names(part))
    kinds = {name: pl.Enum(list(names)) for name, names in known.items()}
    wider = [frame.cast({name: kind for name, kind in kinds.items() if name in frame.columns}) for frame in frames]
    return pl.concat(wider, how="diagonal")


def _names(texts: pl.Series) -> list[str]:
    if isinstance(texts.dtype, pl.Enum):
        return texts.dtype.categories.to_list()
    return texts.unique().drop_nulls().cast(pl.String).sort().to_list()
