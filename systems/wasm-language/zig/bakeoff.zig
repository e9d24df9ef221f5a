//! What the workloads share.

const std = @import("std");

/// The two host functions by which the instrument knows where productive code begins and ends.
pub extern "bakeoff" fn startup() void;
pub extern "bakeoff" fn finish() void;

/// The number that is the command's last word.
pub fn argument(allocator: std.mem.Allocator) !i64 {
    const words = try std.process.argsAlloc(allocator);
    return std.fmt.parseInt(i64, words[words.len - 1], 10);
}

/// Says the result as a marker.
pub fn result(value: i64) !void {
    var buffer: [128]u8 = undefined;
    var writer = std.fs.File.stdout().writer(&buffer);
    try writer.interface.print("@bakeoff result {{\"value\": {d}}}\n", .{value});
    try writer.interface.flush();
}
