const std = @import("std");
const bakeoff = @import("bakeoff.zig");

fn fibonacci(n: i64) i64 {
    return if (n < 2) n else fibonacci(n - 1) + fibonacci(n - 2);
}

pub fn main() !void {
    bakeoff.startup();
    try bakeoff.result(fibonacci(try bakeoff.argument(std.heap.wasm_allocator)));
    bakeoff.finish();
}
