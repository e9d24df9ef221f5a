// Worker is one worker process of the Big benchmark over HTTP: a server that answers pings, and, once it has been
// started, a goroutine that sends them.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"

	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/http-services/api"
)

func main() {
	core := flag.String("core", "", "host and port of the core")
	number := flag.Uint64("number", 0, "the number of this worker")
	flag.Parse()
	fleet.EndWithCore()
	if err := run(*core, *number); err != nil {
		fleet.Fail(*number, err)
	}
}

func run(core string, number uint64) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	p := newPinger(fmt.Sprint(port), number, "http://"+core)
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(listener, handler(p)) }()
	if err := api.Post("http://"+core+"/register", api.Registration{Port: port}); err != nil {
		return fmt.Errorf("cannot register: %w", err)
	}
	return <-failed // the lifeline ends the process
}
