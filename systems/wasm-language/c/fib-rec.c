#include "bakeoff.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t fibonacci(int64_t n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv) {
    startup();
    if (argc < 2) {
        fprintf(stderr, "usage: fib-rec N\n");
        return 2;
    }
    int64_t value = fibonacci(atoll(argv[argc - 1]));
    printf("@bakeoff result {\"value\": %" PRId64 "}\n", value);
    fflush(stdout);
    finish();
    return 0;
}
