#!/bin/sh
# Builds the server for each kind of platform: build.sh WORK OUT.
set -eu
work=$1 out=$2
build() { # target, features, binary, artefact
    cargo build --release --locked --offline --target-dir "$work/target" --target "$1" \
        --no-default-features --features "$2" --bin "$3"
    cp "$work/target/$1/release/$3$5" "$out/$4"
}
# tokio calls its sockets in WASI unstable.
export RUSTFLAGS="--cfg tokio_unstable"
build x86_64-unknown-linux-musl sockets echo echo ""
build wasm32-wasip2 sockets echo echo-sockets.wasm .wasm
build wasm32-wasip2 handler echo-handler echo-handler.wasm .wasm
build wasm32-wasip1 sockets echo echo-listener.wasm .wasm
build wasm32-wasip1 wasmedge echo echo-wasmedge.wasm .wasm
