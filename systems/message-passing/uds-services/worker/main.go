// Worker is one worker process of the Big benchmark over Unix domain sockets, with a new connection for
// each message.
//
// It is single-threaded: one goroutine accepts a connection, reads its message and sends the answer before it
// accepts the next one, and GOMAXPROCS is 1. Besides it, one goroutine sleeps on the lifeline and one wakes
// once a minute to see whether pongs still come.
//
// The workers cannot deadlock: a sender never waits for its receiver, because the connects that can be on their way
// to a worker (a ping of each other member, a pong, two messages of the core) fit into its backlog.
package main

import (
	"flag"
	"fmt"
	"runtime"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/common/protocol"
	"bakeoff.example/message-passing/uds-services/post"
)

func main() {
	runtime.GOMAXPROCS(1)
	folder := flag.String("folder", "", "the folder of the sockets")
	number := flag.Uint64("number", 0, "the number of this worker")
	flag.Parse()
	fleet.EndWithCore()
	if err := run(*folder, *number); err != nil {
		fleet.Fail(*number, err)
	}
}

func run(folder string, number uint64) error {
	self := fmt.Sprint("w", number)
	listener, err := dial.Listen(folder, self)
	if err != nil {
		return err
	}
	fail := func(err error) { fleet.Fail(number, err) }
	player := protocol.NewPlayer(big.NewWorker(self, number), post.NewSender(folder), fail)
	if err := player.Register(); err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		m, err := post.Receive(connection)
		if err != nil {
			return err
		}
		if err := player.Take(m); err != nil {
			return err
		}
	}
}
