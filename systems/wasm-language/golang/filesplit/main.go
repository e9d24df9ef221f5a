// Sorts the numbers of a file into ten files by their last digits.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	"wasm-language/bakeoff"
)

func split() (int64, error) {
	numbers, err := os.Open("/data/numbers.txt")
	if err != nil {
		return 0, err
	}
	defer numbers.Close()
	var lines int64
	scanner := bufio.NewScanner(numbers)
	for ; scanner.Scan(); lines++ {
		number, err := strconv.Atoi(scanner.Text())
		if err != nil {
			return 0, err
		}
		if err := add(number); err != nil {
			return 0, err
		}
	}
	return lines, scanner.Err()
}

func add(number int) error {
	path := fmt.Sprintf("/data/%d.txt", number%10)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, number); err != nil {
		return err
	}
	return file.Close()
}

func main() {
	bakeoff.Startup()
	lines, err := split()
	if err != nil {
		bakeoff.Fail(err)
	}
	bakeoff.Result(lines)
	bakeoff.Finish()
}
