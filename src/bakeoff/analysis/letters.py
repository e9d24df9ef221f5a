"""Compact letter displays: systems that share a letter cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_COLUMNS = 500  # while they are made; the number can grow exponentially


def display(count: int, different: Iterable[tuple[int, int]]) -> list[str]:
    """The letters of `count` things, given the pairs that differ: two share a letter exactly if they do not differ.

    Insert and absorb (Piepho 2004, An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons, J.
    Comput. Graph. Stat. 13). Things that come first have the first letters. Empty texts where more than 52 letters
    would be needed.
    """
    columns = [frozenset(range(count))]
    for one, other in different:
        split = [part for column in columns for part in _without(column, one, other)]
        columns = _absorbed(split)
        if len(columns) > MOST_COLUMNS:
            return [""] * count
    if len(columns) > len(LETTERS):
        return [""] * count
    ordered = sorted(columns, key=sorted)
    named = list(zip(ordered, LETTERS, strict=False))
    return ["".join(letter for column, letter in named if thing in column) for thing in range(count)]


def _without(column: frozenset[int], one: int, other: int) -> list[frozenset[int]]:
    return [column - {one}, column - {other}] if one in column and other in column else [column]


def _absorbed(columns: list[frozenset[int]]) -> list[frozenset[int]]:
    """The columns that lie within no other."""
    kept: list[frozenset[int]] = []
    for column in sorted(set(columns), key=len, reverse=True):
        if not any(column <= larger for larger in kept):
            kept.append(column)
    return kept
