import { finish, startup } from "bakeoff";
import * as std from "qjs:std";

// Its results are below 2 ** 53, so that numbers are exact.
function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

startup();
const value = fibonacci(Number(scriptArgs.at(-1)));
std.out.puts(`@bakeoff result {"value": ${value}}\n`);
std.out.flush();
finish();
