// Core is the core process of the Big benchmark over Unix domain sockets with kept connections. It starts the
// workers, listens at the socket "core", and tells when the last worker has finished.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/kept"
	"bakeoff.example/message-passing/common/marker"
	"bakeoff.example/message-passing/common/protocol"
)

func main() {
	marker.Print("startup")
	options := coordinator.Options{CountsRetries: true}
	options.Flags(flag.CommandLine)
	folder := flag.String("folder", "", "an empty folder for the sockets")
	flag.Parse()
	if err := run(options, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "core:", err)
		os.Exit(1)
	}
}

func run(options coordinator.Options, folder string) error {
	listener, err := dial.Listen(folder, protocol.Core)
	if err != nil {
		return err
	}
	return kept.RunCore(options, listener, dial.InFolder(folder), func(n int) []string {
		return []string{"--folder", folder, "--number", strconv.Itoa(n)}
	})
}
