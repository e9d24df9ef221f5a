// Core is the core process of the Big benchmark over HTTP. It starts the workers, serves /register and
// /finish, and tells when the last worker has finished.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/common/marker"
)

func main() {
	marker.Print("startup")
	options := coordinator.Options{ClockFromSpawn: true}
	options.Flags(flag.CommandLine)
	port := flag.Int("port", 8090, "the port of /register and /finish")
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
	inbox := coordinator.NewInbox()
	server := &http.Server{Handler: handler(inbox)}
	defer server.Close()
	go func() { inbox.Failed <- server.Serve(listener) }()
	return coordinator.Run(options, wire{listener.Addr().String()}, inbox)
}
