package fleet

import (
	"fmt"
	"io"
	"os"
)

// EndWithCore ends this worker process as soon as the core ends or ends the lifeline.
func EndWithCore() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// Fail ends worker process n with one message.
func Fail(n uint64, err error) {
	fmt.Fprintf(os.Stderr, "worker %d: %v\n", n, err)
	os.Exit(1)
}
