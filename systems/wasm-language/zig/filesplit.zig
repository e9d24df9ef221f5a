const std = @import("std");
const bakeoff = @import("bakeoff.zig");

// The working directory of a WASI module in Zig is the first folder that the host gives: /data.
fn append(number: u32) !void {
    var name: [8]u8 = undefined;
    const path = try std.fmt.bufPrint(&name, "{d}.txt", .{number % 10});
    const file = try std.fs.cwd().createFile(path, .{ .truncate = false });
    defer file.close();
    try file.seekFromEnd(0); // the standard library has no mode to append
    var line: [16]u8 = undefined;
    try file.writeAll(try std.fmt.bufPrint(&line, "{d}\n", .{number}));
}

pub fn main() !void {
    bakeoff.startup();
    const numbers = try std.fs.cwd().openFile("numbers.txt", .{});
    defer numbers.close();
    var buffer: [4096]u8 = undefined;
    var reader = numbers.reader(&buffer);
    var lines: i64 = 0;
    while (try reader.interface.takeDelimiter('\n')) |line| : (lines += 1) {
        try append(try std.fmt.parseInt(u32, line, 10));
    }
    try bakeoff.result(lines);
    bakeoff.finish();
}
