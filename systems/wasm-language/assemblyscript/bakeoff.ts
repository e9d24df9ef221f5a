import { CommandLine, Console } from "as-wasi/assembly";

// The two host functions by which the instrument knows where productive code begins and ends.
@external("bakeoff", "startup")
export declare function startup(): void;
@external("bakeoff", "finish")
export declare function finish(): void;

/** The number that is the command's last word. */
export function argument(): i64 {
  const words = CommandLine.all;
  return i64.parse(words[words.length - 1]);
}

/** Says the result as a marker. */
export function result(value: i64): void {
  Console.log('@bakeoff result {"value": ' + value.toString() + "}");
}
