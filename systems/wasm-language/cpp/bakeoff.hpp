// What the workloads share.
#pragma once

#include <charconv>
#include <cstdint>
#include <iostream>
#include <string_view>

// The two host functions by which the instrument knows where productive code begins and ends.
extern "C" {
[[clang::import_module("bakeoff"), clang::import_name("startup")]] void startup();
[[clang::import_module("bakeoff"), clang::import_name("finish")]] void finish();
}

// The number of a text, or -1.
inline std::int64_t number(std::string_view text) {
    std::int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// Says the result as a marker.
inline void result(std::int64_t value) {
    std::cout << "@bakeoff result {\"value\": " << value << '}' << std::endl;
}
