// Worker is one worker process of the Big benchmark over TCP with kept connections.
package main

import (
	"flag"
	"net"

	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/common/kept"
)

func main() {
	core := flag.String("core", "", "host and port of the core")
	number := flag.Uint64("number", 0, "the number of this worker")
	flag.Parse()
	fleet.EndWithCore()
	fail := func(err error) { fleet.Fail(*number, err) }

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	self := listener.Addr().String()
	if err := kept.RunWorker(listener, dial.Loopback(*core), self, *number, fail); err != nil {
		fail(err)
	}
}
