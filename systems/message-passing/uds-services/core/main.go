// Core is the core process of the Big benchmark over Unix domain sockets, with a new connection for each
// message. It starts the workers, listens at the socket "core", and tells when the last worker has finished.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/marker"
	"bakeoff.example/message-passing/common/protocol"
	"bakeoff.example/message-passing/uds-services/post"
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
	defer listener.Close()
	inbox := coordinator.NewInbox()
	go receive(listener, inbox)
	wire := protocol.Wire{
		Sender: post.NewSender(folder),
		Arguments: func(n int) []string {
			return []string{"--folder", folder, "--number", strconv.Itoa(n)}
		},
	}
	return coordinator.Run(options, wire, inbox)
}

// receive delivers the messages of the workers until the listener is closed.
func receive(listener net.Listener, inbox *coordinator.Inbox) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			inbox.Failed <- err // nobody listens any more if the listener was closed
			return
		}
		go func() {
			m, err := post.Receive(connection)
			if err != nil {
				inbox.Failed <- err
				return
			}
			protocol.Deliver(m, inbox)
		}()
	}
}
