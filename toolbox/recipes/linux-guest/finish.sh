#!/bin/sh
# Leaves in `guest/` the kernel, busybox, and the modules in the order of loading. Started in the tool's folder.
set -eu
folder=$PWD
release=$(basename "$(find lib/modules usr/lib/modules -mindepth 1 -maxdepth 1 -type d 2>/dev/null | head -n 1)")
kmod=$(find "$folder" -path '*bin/kmod' | head -n 1)
mkdir -p guest/modules bin links
# Unpacked here, once: a guest would need seconds for it where its CPU is emulated.
python3 - "boot/vmlinuz-$release" guest/kernel <<'END'
import lzma, pathlib, sys
packed = pathlib.Path(sys.argv[1]).read_bytes()
start = packed.index(b"\xfd7zXZ\0")
pathlib.Path(sys.argv[2]).write_bytes(lzma.LZMADecompressor().decompress(packed[start:]))
END
cp "$(find "$folder" -path '*bin/busybox' | head -n 1)" guest/busybox
for name in depmod modprobe; do ln -s "$kmod" "links/$name"; done

"$folder/links/depmod" -b "$folder" "$release"
for wanted in virtio_pci virtio_mmio virtio_net 9pnet_virtio 9p; do
    "$folder/links/modprobe" -d "$folder" -S "$release" --show-depends "$wanted"
done | sed -n 's/^insmod *\([^ ]*\).*/\1/p' | awk '!seen[$0]++' | {
    number=100
    while read -r module; do
        cp "$module" "guest/modules/$number-$(basename "$module")"
        number=$((number + 1))
    done
}
printf '#!/bin/sh\necho "Linux %s"\n' "$release" > bin/linux-guest
chmod +x bin/linux-guest
rm -rf boot etc lib lib64 links usr var
