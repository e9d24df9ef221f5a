// Runs a WASI module in Node.js: node node-wasi.mjs [--dir OUTSIDE::INSIDE] [--env NAME=VALUE] MODULE [ARGUMENT …]
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const words = process.argv.slice(2);
const preopens = {};
const env = {};
while (words[0]?.startsWith("--")) {
  const [option, value] = words.splice(0, 2);
  if (option === "--dir") {
    const [outside, inside] = value.split("::");
    preopens[inside] = outside;
  } else if (option === "--env") {
    const [name, ...rest] = value.split("=");
    env[name] = rest.join("=");
  } else {
    throw new Error(`${option} is no option; use --dir or --env`);
  }
}
const wasi = new WASI({ version: "preview1", args: words, env, preopens, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(words[0]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
