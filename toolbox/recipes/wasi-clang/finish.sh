#!/bin/sh
# Makes `wasi-clang` and `wasi-clang++`: clang for wasm32-wasi with this folder's libraries. Started in the tool's folder.
set -eu
llvm=usr/lib/llvm-19
ln -sf wasm-ld $llvm/bin/wasm-ld-19
mkdir -p bin
for name in clang clang++; do
    ln -sf $name $llvm/bin/wasi-$name
    ln -sf ../$llvm/bin/wasi-$name bin/wasi-$name
done
for name in llvm-ar llvm-nm llvm-objdump llvm-strip wasm-ld; do
    test ! -e $llvm/bin/$name || ln -sf ../$llvm/bin/$name bin/$name
done
# clang reads the file called after the name by which it was started.
for name in clang clang++; do
    printf '%s\n' '--target=wasm32-wasi' '--sysroot=<CFGDIR>/../../..' > $llvm/bin/wasi-$name.cfg
done
