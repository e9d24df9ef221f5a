#!/usr/bin/env bash
# The systems' own tests, each in its own language. A folder with go.mod or Cargo.toml below systems/ is one.
set -euo pipefail
cd "$(dirname "$0")/.."

ran=0
while read -r module; do
    folder=$(dirname "$module")
    echo "== $folder"
    case $folder in
        # Programs for Wasm only, which have no tests of their own in Go; tests/test_wasm_languages.py checks what they do.
        systems/wasm-language/*) (cd "$folder" && test -z "$(gofmt -l .)" && GOOS=wasip1 GOARCH=wasm go vet ./...) ;;
        *) (cd "$folder" && test -z "$(gofmt -l .)" && go vet ./... && go test ./...) ;;
    esac
    ran=$((ran + 1))
done < <(find systems -name go.mod -not -path '*/node_modules/*' | sort)
echo "== systems/webserver/parser-rust"
(cd systems/webserver/parser-rust && cargo test --locked --quiet --target-dir ../../../target/systems)
echo "== systems/load-generator/server"
(cd systems/load-generator/server && cargo test --locked --quiet --target-dir ../../../target/systems)
echo "$ran folders of Go systems and two of Rust tested"
test "$ran" -gt 0
