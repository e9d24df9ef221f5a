#include "bakeoff.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t fibonacci(int64_t n) {
    int64_t current = 0, next = 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = current + next;
        current = next;
        next = sum;
    }
    return current;
}

int main(int argc, char **argv) {
    startup();
    if (argc < 2) {
        fprintf(stderr, "usage: fib-it N\n");
        return 2;
    }
    int64_t value = fibonacci(atoll(argv[argc - 1]));
    printf("@bakeoff result {\"value\": %" PRId64 "}\n", value);
    fflush(stdout);
    finish();
    return 0;
}
