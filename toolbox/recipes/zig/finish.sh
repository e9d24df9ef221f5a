#!/bin/sh
# Makes `zig`, which lies inside the Python package. Started in the tool's folder.
set -eu
mkdir -p programs
ln -sf "$(bin/python -c 'import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent / "zig")')" programs/zig
