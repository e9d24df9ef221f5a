import { Descriptor, FileSystem } from "as-wasi/assembly";
import { errno, fdflags, lookupflags, oflags, path_open, rights } from "@assemblyscript/wasi-shim/assembly/bindings/wasi_snapshot_preview1";
import { finish, result, startup } from "./bakeoff";

const DATA = 3; // the first folder that the host gives, which as-wasi opens all files in

// Opens a file to append to it. as-wasi has no such mode, so this is what its `open` does, without O_TRUNC and with O_APPEND.
function append(name: string): Descriptor {
  const path = String.UTF8.encode(name);
  const opened = memory.data(8);
  const wanted = rights.FD_WRITE | rights.FD_FDSTAT_SET_FLAGS;
  const code = path_open(DATA, lookupflags.SYMLINK_FOLLOW, changetype<usize>(path), path.byteLength, oflags.CREAT, wanted, wanted, 0, opened);
  if (code != errno.SUCCESS) throw new Error("cannot open " + name);
  const file = new Descriptor(load<u32>(opened));
  if (!file.setFlags(fdflags.APPEND)) throw new Error("cannot append to " + name);
  return file;
}

startup();
const numbers = FileSystem.open("numbers.txt", "r")!;
let lines: i64 = 0;
for (let line = numbers.readLine(); line !== null; line = numbers.readLine()) {
  const number = i32.parse(line);
  const file = append((number % 10).toString() + ".txt");
  file.writeString(number.toString() + "\n"); // writeStringLn loses its newline where a host writes one piece at a time
  file.close();
  lines++;
}
numbers.close();
result(lines);
finish();
