#include "bakeoff.hpp"
#include <utility>

static std::int64_t fibonacci(std::int64_t n) {
    std::int64_t current = 0, next = 1;
    for (std::int64_t i = 0; i < n; i++)
        current = std::exchange(next, current + next);
    return current;
}

int main(int argc, char **argv) {
    startup();
    result(fibonacci(number(argv[argc - 1])));
    finish();
}
