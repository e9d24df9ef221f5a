#!/bin/sh
# Makes `emcc` and `em++`, which use this folder's parts only. Started in the tool's folder.
set -eu
folder=$PWD
sed -e "s|'/usr/share/emscripten'|'$folder/usr/share/emscripten'|" -e "s|'/usr/bin'|'$folder/usr/bin'|" \
    -e "s|'/usr'|'$folder/usr'|" -e "s|'/usr/bin/node'|'$folder/usr/bin/node'|" \
    usr/share/emscripten/.emscripten > config
rm -rf usr/share/emscripten/tests
mkdir -p bin
for name in emcc em++; do
    printf '#!/bin/sh\nEM_CONFIG=%s NODE_PATH=%s exec python3 %s "$@"\n' \
        "$folder/config" "$folder/usr/share/nodejs" "$folder/usr/share/emscripten/$name.py" > bin/$name
    chmod +x bin/$name
done
