import { argument, finish, result, startup } from "./bakeoff";

function fibonacci(n: i64): i64 {
  let current: i64 = 0;
  let next: i64 = 1;
  for (let i: i64 = 0; i < n; i++) {
    const sum = current + next;
    current = next;
    next = sum;
  }
  return current;
}

startup();
result(fibonacci(argument()));
finish();
