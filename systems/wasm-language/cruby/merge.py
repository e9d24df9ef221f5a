#!/usr/bin/env python3
"""Makes a module out of the interpreter and one program: merge.py none|full PROGRAM MODULE WORK_FOLDER."""

import subprocess
import sys
from pathlib import Path

GUARD = """begin
  RubyVM::InstructionSequence.compile(<<'PROGRAM', {name!r}, nil, 1, {options}).eval
{program}PROGRAM
rescue Exception => error
  warn error.full_message(highlight: false)
  raise
end
"""

FEATURES = [
    "bulk-memory",
    "bulk-memory-opt",
    "sign-ext",
    "mutable-globals",
    "nontrapping-float-to-int",
    "reference-types",
]
FEATURES = [f"--enable-{name}" for name in (*FEATURES, "multivalue")]  # what LLVM takes for granted
OPTIONS = {"none": "false", "full": "true"}  # all optimisations of the bytecode compiler off, or as they are


def main(optimisation: str, program: Path, module: Path, work: Path) -> None:
    """Puts the program into the adapter, assembles it, and merges it with the interpreter."""
    here = Path(__file__).parent
    interpreter = subprocess.run(["ruby-wasm"], check=True, capture_output=True, text=True).stdout.strip()
    text = GUARD.format(program=program.read_text(), name=program.name, options=OPTIONS[optimisation]).encode()
    escaped = "".join(f"\\{byte:02x}" for byte in text)
    adapter = (here / "adapter.wat").read_text().replace("@PROGRAM@", escaped).replace("@LENGTH@", str(len(text)))
    (work / "adapter.wat").write_text(adapter)
    assemble = ["wasm-as", "--enable-bulk-memory"]
    subprocess.run([*assemble, work / "adapter.wat", "-o", work / "adapter.wasm"], check=True)
    subprocess.run([*assemble, here / "handles.wat", "-o", work / "handles.wasm"], check=True)
    parts = [interpreter, "ruby", work / "adapter.wasm", "rb-js-abi-host", work / "handles.wasm", "canonical_abi"]
    subprocess.run(["wasm-merge", *parts, "-o", module, *FEATURES], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in OPTIONS:
        sys.exit(__doc__)
    main(sys.argv[1], *map(Path, sys.argv[2:]))
