#include "bakeoff.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    startup();
    FILE *numbers = fopen("/data/numbers.txt", "r");
    if (numbers == NULL) {
        perror("/data/numbers.txt");
        return 1;
    }
    char line[32];
    long lines = 0;
    while (fgets(line, sizeof line, numbers) != NULL) {
        int number = atoi(line);
        char path[32];
        snprintf(path, sizeof path, "/data/%d.txt", number % 10);
        FILE *file = fopen(path, "a");
        if (file == NULL || fprintf(file, "%d\n", number) < 0 || fclose(file) != 0) {
            perror(path);
            return 1;
        }
        lines++;
    }
    fclose(numbers);
    printf("@bakeoff result {\"value\": %ld}\n", lines);
    fflush(stdout);
    finish();
    return 0;
}
