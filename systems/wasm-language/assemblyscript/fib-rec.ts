import { argument, finish, result, startup } from "./bakeoff";

function fibonacci(n: i64): i64 {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

startup();
result(fibonacci(argument()));
finish();
