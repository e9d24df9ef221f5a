#!/usr/bin/env python3
"""Checks what a program has made in a folder.

After `filesplit` each digit's file holds exactly its numbers, in the order of the input.
"""

import sys
from pathlib import Path


def wrong(folder: Path) -> str | None:
    """What is wrong with the folder's files, or None."""
    numbers = (folder / "numbers.txt").read_text().split()
    for digit in "0123456789":
        right = [number for number in numbers if number.endswith(digit)]
        file = folder / f"{digit}.txt"
        if not file.is_file():
            if right:
                return f"{file.name} is missing; it should hold {len(right)} numbers"
            continue
        found = file.read_bytes().decode(errors="replace")
        if found == "".join(f"{number}\n" for number in right):
            continue
        have = found.split("\n")[:-1] if found.endswith("\n") else found.split("\n")
        for line, (mine, yours) in enumerate(zip(right, have, strict=False), start=1):
            if mine != yours:
                return f"line {line} of {file.name} is {yours[:20]!r} instead of {mine!r}"
        return f"{file.name} holds {len(have)} lines instead of {len(right)}"
    return None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: check.py PROGRAM FOLDER")
    if sys.argv[1] == "filesplit" and (problem := wrong(Path(sys.argv[2]))):
        sys.exit(problem)
