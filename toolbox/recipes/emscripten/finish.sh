#!/bin/sh
# Makes `emcc` and `em++`, which use this folder's parts only. Started in the tool's folder.
set -eu
folder=$PWD
# Node.js is the machine's own: Debian's looks for parts of itself below /usr/share.
sed -e "s|'/usr/share/emscripten'|'$folder/usr/share/emscripten'|" -e "s|'/usr/bin'|'$folder/usr/bin'|" \
    -e "s|'/usr'|'$folder/usr'|" -e "s|'/usr/bin/node'|'node'|" \
    usr/share/emscripten/.emscripten > config
rm -rf usr/share/emscripten/tests
mkdir -p bin
for name in emcc em++; do
    # Binaryen's programs are found through PATH; this folder comes last, so that the machine's own Python stays the first.
    printf '#!/bin/sh\nEM_CONFIG=%s NODE_PATH=%s PATH=$PATH:%s exec python3 %s "$@"\n' \
        "$folder/config" "$folder/usr/share/nodejs" "$folder/usr/bin" "$folder/usr/share/emscripten/$name.py" > bin/$name
    chmod +x bin/$name
done
