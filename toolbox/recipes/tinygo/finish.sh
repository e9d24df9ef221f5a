#!/bin/sh
# Builds TinyGo with the LLVM of this folder, and makes `bin/tinygo`. Started in the tool's folder; $1 has go.mod and go.sum.
set -eu
folder=$PWD
llvm=$folder/usr/lib/llvm-19
libraries=$folder/usr/lib/x86_64-linux-gnu
loader=$(find "$folder" -type f -name 'ld-linux-*.so.*' | head -n 1)

mkdir -p build bin libexec
cp "$1/go.mod" "$1/go.sum" build
cd build
# Linked against the folder's own libraries, found through an RPATH, so that the machine's own do not matter.
CGO_ENABLED=1 CGO_CPPFLAGS="-I$llvm/include" \
    CGO_LDFLAGS="-L$llvm/lib -L$libraries -Wl,--disable-new-dtags,-rpath,$llvm/lib:$libraries,--dynamic-linker,$loader,-rpath-link,$libraries" \
    GOFLAGS=-mod=mod go build -tags llvm19 -o "$folder/libexec/tinygo" github.com/tinygo-org/tinygo
cmp go.sum "$1/go.sum"
module=$(GOFLAGS=-mod=mod go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
cd "$folder"
rm -rf build root
cp -r "$module" root
chmod -R u+w root
mkdir -p root/src/net # a submodule in its repository, empty in the module; none of its packages is needed here
ln -s "$folder/usr/include/wasm32-wasi" root/wasi-include
ln -s "$folder/usr/lib/wasm32-wasi" root/wasi-lib
ln -s "$(dirname "$(find -L "$llvm/lib/clang" -name libclang_rt.builtins-wasm32.a | head -n 1)")" root/wasi-rt
ln -s "$llvm/lib/clang/19/include" root/clang-include

# The module lacks the sources of wasi-libc, compiler-rt and the Boehm collector, so the target takes what Debian has built.
python3 - <<'END'
import json, pathlib
file = pathlib.Path("root/targets/wasip1.json")
target = json.loads(file.read_text())
del target["libc"], target["rtlib"]
target["extra-files"] = [name for name in target["extra-files"] if "boehm" not in name]
target["cflags"] += ["-nostdlibinc", "-isystem{root}/wasi-include", "-isystem{root}/clang-include"]
target["ldflags"] += ["{root}/wasi-lib/libc.a", "{root}/wasi-rt/libclang_rt.builtins-wasm32.a"]
target["features"] = target["features"].replace("+bulk-memory-opt,", "").replace("+call-indirect-overlong,", "")  # newer than LLVM 19
file.write_text(json.dumps(target, indent=1))
END
find "$llvm/lib" -maxdepth 1 -name '*.a' -delete # 0.6 GB that only the linking of LLVM's own programs would need
ln -sf wasm-ld "$llvm/bin/wasm-ld-19"
for name in clang clang-19 wasm-ld wasm-ld-19 llvm-ar; do ln -sf "$llvm/bin/$name" "libexec/$name"; done
ln -sf "$folder/usr/bin/wasm-opt" libexec/wasm-opt
printf '#!/bin/sh\nTINYGOROOT=%s PATH=%s:$PATH exec %s "$@"\n' "$folder/root" "$folder/libexec" "$folder/libexec/tinygo" > bin/tinygo
chmod +x bin/tinygo
