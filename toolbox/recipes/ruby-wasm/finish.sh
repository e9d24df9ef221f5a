#!/bin/sh
# Makes `ruby-wasm`, which says where the module is, or the version of Ruby in it. Started in the tool's folder.
set -eu
package=$PWD/node_modules/@ruby/3.4-wasm-wasi
version=$(grep -a -o -m1 'ruby 3\.4\.[0-9]*' "$package/dist/ruby.wasm" | head -n 1)
rm -f "$package"/dist/ruby.debug*
mkdir -p bin
cat > bin/ruby-wasm <<END
#!/bin/sh
test "\${1-}" = --version && echo '$version' || echo '$package/dist/ruby.wasm'
END
chmod +x bin/ruby-wasm
