#!/usr/bin/env python3
"""Sets the parsers of the languages against each other on the same inputs: the vectors, and mutations of them.

    compare.py [--count N] [--seed N] [--piece N] PROGRAM PROGRAM ...

Each PROGRAM is a dump: it reads inputs from standard input, each after its length (four bytes, the lowest first), and
prints what its parser makes of each, one JSON object a line. A PROGRAM may be a command with blanks in it.
Exit code 1 if they differ.
"""

import argparse
import json
import random
import shlex
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

FRAGMENTS = [
    b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\r\n\r\n", b"\0", b"\xff", b"?", b",", b"a" * 40, b"X: y\r\n" * 70,
    b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Host: b\r\n",
    b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.0", b"http://",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
]  # fmt: skip


def vector_inputs() -> list[bytes]:
    document = json.loads(Path(__file__).with_name("vectors.json").read_text())
    return [b"".join(piece_bytes(piece) for piece in vector["input"]) for vector in document["vectors"]]


def piece_bytes(piece: str | list[Any]) -> bytes:
    text, times = (piece, 1) if isinstance(piece, str) else piece
    return text.encode("latin-1") * times


def mutate(chance: random.Random, seeds: list[bytes]) -> bytes:
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        to = min(len(data), at + chance.randint(0, 16))
        match chance.randrange(5):
            case 0:
                del data[at:to]
            case 1:
                data[at:at] = chance.choice(FRAGMENTS)
            case 2:
                data[at:to] = chance.randbytes(to - at)
            case 3:
                del data[at:]
            case _:
                other = chance.choice(seeds)
                data[at:to] = other[chance.randint(0, len(other)) :]
    return bytes(data)


def dump(program: str, inputs: list[bytes], piece: int | None) -> list[Any]:
    stream = b"".join(struct.pack("<I", len(data)) + data for data in inputs)
    command = shlex.split(program) + ([str(piece)] if piece else [])
    lines = subprocess.run(command, input=stream, stdout=subprocess.PIPE, check=True, timeout=600).stdout.splitlines()
    return [json.loads(line) for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--piece", type=int, help="feed the inputs in pieces of so many bytes (default: whole)")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    options = parser.parse_args()

    chance = random.Random(options.seed)
    vectors = vector_inputs()
    short = [data for data in vectors if len(data) < 1000]
    inputs = vectors + [mutate(chance, short) for _ in range(options.count)]
    first, *others = options.programs
    expected = dump(first, inputs, options.piece)
    if len(expected) != len(inputs):
        sys.exit(f"{first}: {len(expected)} lines for {len(inputs)} inputs")
    differences = 0
    for program in others:
        seen = dump(program, inputs, options.piece)
        if len(seen) != len(inputs):
            sys.exit(f"{program}: {len(seen)} lines for {len(inputs)} inputs")
        for data, left, right in zip(inputs, expected, seen, strict=True):
            if left != right:
                differences += 1
                if differences <= 5:
                    print(f"{data!r}\n  {first}: {left}\n  {program}: {right}")
    errors = sorted({answer["error"] for answer in expected if answer["error"]})
    print(f"{len(inputs)} inputs, {len(errors)} kinds of error, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
