import { finish, startup } from "bakeoff";
import * as std from "qjs:std";

function open(path, mode) {
  const failure = {};
  const file = std.open(path, mode, failure);
  if (file === null) {
    throw new Error(`${path}: ${std.strerror(failure.errno)}`);
  }
  return file;
}

startup();
const numbers = open("/data/numbers.txt", "r");
let lines = 0;
for (let line = numbers.getline(); line !== null; line = numbers.getline()) {
  const number = Number(line);
  const file = open(`/data/${number % 10}.txt`, "a");
  file.puts(`${number}\n`);
  file.close();
  lines++;
}
numbers.close();
std.out.puts(`@bakeoff result {"value": ${lines}}\n`);
std.out.flush();
finish();
