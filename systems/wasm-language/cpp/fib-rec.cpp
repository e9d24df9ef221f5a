#include "bakeoff.hpp"

static std::int64_t fibonacci(std::int64_t n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv) {
    startup();
    result(fibonacci(number(argv[argc - 1])));
    finish();
}
