#!/bin/sh
# Makes `cpython-wasm`, which copies the module to where its argument says, or says its version. Started in the tool's folder.
set -eu
module=$(find "$PWD/lib" -name 'python-*.wasm' | head -n 1)
mkdir -p programs
cat > programs/cpython-wasm <<END
#!/bin/sh
test "\${1-}" = --version && basename '$module' .wasm || cp '$module' "\$1"
END
chmod +x programs/cpython-wasm
