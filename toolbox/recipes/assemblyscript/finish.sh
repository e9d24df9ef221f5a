#!/bin/sh
# Makes `asc-wasi`: asc with the settings of the shim's asconfig.json, which names folders of a project that has its own node_modules.
set -eu
mkdir -p bin
cat > bin/asc-wasi <<END
#!/bin/sh
modules=$PWD/node_modules
exec "\$modules/.bin/asc" --config none --path "\$modules" --exportStart _start \\
    --lib "\$(realpath --relative-to=. "\$modules/@assemblyscript/wasi-shim/assembly")" \\
    --use ASC_WASI=1 --use abort=wasi_abort --use trace=wasi_trace --use seed=wasi_seed "\$@"
END
chmod +x bin/asc-wasi
