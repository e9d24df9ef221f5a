module wasm-language

go 1.26
