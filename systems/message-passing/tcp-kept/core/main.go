// Core is the core process of the Big benchmark over TCP with kept connections. It starts the workers, listens
// at its port, and tells when the last worker has finished.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/kept"
	"bakeoff.example/message-passing/common/marker"
)

func main() {
	marker.Print("startup")
	options := coordinator.Options{CountsRetries: true}
	options.Flags(flag.CommandLine)
	port := flag.Int("port", 8090, "the port of the core")
	flag.Parse()
	if err := run(options, *port); err != nil {
		fmt.Fprintln(os.Stderr, "core:", err)
		os.Exit(1)
	}
}

func run(options coordinator.Options, port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	core := listener.Addr().String()
	return kept.RunCore(options, listener, dial.Loopback(core), func(n int) []string {
		return []string{"--core", core, "--number", strconv.Itoa(n)}
	})
}
