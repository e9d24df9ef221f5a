// Recursive Fibonacci.
package main

import "wasm-language/bakeoff"

func fibonacci(n int64) int64 {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func main() {
	bakeoff.Startup()
	bakeoff.Result(fibonacci(bakeoff.Argument()))
	bakeoff.Finish()
}
