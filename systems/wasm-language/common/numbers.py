#!/usr/bin/env python3
"""Writes inputs of `filesplit`: FOLDER/LINES/numbers.txt, random numbers from 1 to 100, one a line, always the same."""

import random
import sys
from pathlib import Path


def numbers(lines: int, seed: int = 2022) -> list[int]:
    """The numbers; more lines begin with those of fewer."""
    draw = random.Random(seed)
    return [draw.randint(1, 100) for _ in range(lines)]


def write(folder: Path, lines: int) -> None:
    """Writes one input."""
    file = folder / str(lines) / "numbers.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{number}\n" for number in numbers(lines)))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not all(word.isdigit() for word in sys.argv[2:]):
        sys.exit("usage: numbers.py FOLDER LINES…")
    for size in sys.argv[2:]:
        write(Path(sys.argv[1]), int(size))
