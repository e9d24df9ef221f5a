#!/usr/bin/env python3
"""Writes the input of `filesplit`: so many random numbers from 1 to 100, one a line. The same seed gives the same file."""

import random
import sys
from pathlib import Path


def numbers(lines: int, seed: int = 2022) -> list[int]:
    """The numbers; more lines begin with those of fewer."""
    draw = random.Random(seed)
    return [draw.randint(1, 100) for _ in range(lines)]


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        sys.exit("usage: numbers.py FILE LINES")
    Path(sys.argv[1]).write_text("".join(f"{number}\n" for number in numbers(int(sys.argv[2]))))
