import { finish, startup } from "bakeoff";
import * as std from "qjs:std";

function fibonacci(n) {
  let current = 0n;
  let next = 1n;
  for (let i = 0; i < n; i++) {
    [current, next] = [next, current + next];
  }
  return current;
}

startup();
const value = fibonacci(Number(scriptArgs.at(-1)));
std.out.puts(`@bakeoff result {"value": ${value}}\n`);
std.out.flush();
finish();
