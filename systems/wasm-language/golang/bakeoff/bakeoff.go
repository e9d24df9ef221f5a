// Package bakeoff has what the workloads share.
package bakeoff

import (
	"fmt"
	"os"
	"strconv"
)

// Startup tells the instrument that productive code begins.
//
//go:wasmimport bakeoff startup
func Startup()

// Finish tells the instrument that productive code ends.
//
//go:wasmimport bakeoff finish
func Finish()

// Argument is the number that is the command's last word.
func Argument() int64 {
	number, err := strconv.ParseInt(os.Args[len(os.Args)-1], 10, 64)
	if err != nil {
		Fail(err)
	}
	return number
}

// Result says the result as a marker.
func Result(value int64) {
	fmt.Printf("@bakeoff result {\"value\": %d}\n", value)
}

// Fail ends the program with an error.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
