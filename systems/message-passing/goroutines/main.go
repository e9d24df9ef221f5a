// Goroutines runs the Big benchmark with a goroutine a worker and channels between them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	// The clock of this system starts with the program, so the two markers stand together.
	fmt.Println("@bakeoff startup")
	fmt.Println("@bakeoff start")
	began := time.Now()

	var size size
	flag.IntVar(&size.neighbourhoods, "neighbourhoods", 10, "number of neighbourhoods")
	flag.IntVar(&size.workers, "workers", 10, "workers in a neighbourhood")
	flag.IntVar(&size.pings, "pings", 50_000, "pings a worker sends")
	flag.Parse()
	if err := size.check(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(2)
	}

	town := newTown(size)
	town.run()
	fmt.Println("@bakeoff finish")
	elapsed := time.Since(began)

	result := town.tally()
	result.ElapsedS = elapsed.Seconds()
	line, err := json.Marshal(result)
	if err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(1)
	}
	fmt.Printf("@bakeoff result %s\n", line)
	town.end()
}
