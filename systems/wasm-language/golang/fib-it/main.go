// Iterative Fibonacci.
package main

import "wasm-language/bakeoff"

func fibonacci(n int64) int64 {
	current, next := int64(0), int64(1)
	for range n {
		current, next = next, current+next
	}
	return current
}

func main() {
	bakeoff.Startup()
	bakeoff.Result(fibonacci(bakeoff.Argument()))
	bakeoff.Finish()
}
