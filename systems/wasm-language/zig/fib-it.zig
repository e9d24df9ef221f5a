const std = @import("std");
const bakeoff = @import("bakeoff.zig");

fn fibonacci(n: i64) i64 {
    var current: i64 = 0;
    var next: i64 = 1;
    for (0..@intCast(n)) |_| {
        const sum = current + next;
        current = next;
        next = sum;
    }
    return current;
}

pub fn main() !void {
    bakeoff.startup();
    try bakeoff.result(fibonacci(try bakeoff.argument(std.heap.wasm_allocator)));
    bakeoff.finish();
}
