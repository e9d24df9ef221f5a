#!/bin/sh
# Builds `qjsc` for this machine and the engine for Wasm, and makes `quickjs-link`. Started in the tool's folder.
set -eu
folder=$PWD
sources=$folder/source/quickjs
flags='-O2 -funsigned-char -D_GNU_SOURCE'
engine='dtoa libregexp libunicode quickjs quickjs-libc'

mkdir -p bin build include
cc $flags -o bin/qjsc "$sources/qjsc.c" $(printf "$sources/%s.c " $engine) -lm -ldl -lpthread
cp "$sources/quickjs.h" "$sources/quickjs-libc.h" include
for name in $engine; do
    wasi-clang $flags -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL -c -o "build/$name.o" "$sources/$name.c"
done
# The engine lets a script use 1 MiB of stack; a module of clang has 64 KiB unless it is told otherwise.
cat > bin/quickjs-link <<END
#!/bin/sh
# quickjs-link OUTPUT FILE.c …: what qjsc has written, with the engine, as a WASI command.
output=\$1; shift
exec wasi-clang -O2 -I$folder/include -Wl,--strip-debug -Wl,-z,stack-size=2097152 -o "\$output" "\$@" $folder/build/*.o \
    -lwasi-emulated-process-clocks -lwasi-emulated-signal -lm
END
chmod +x bin/quickjs-link
rm -rf source
