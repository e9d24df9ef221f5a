// Worker is one worker process of the Big benchmark over Unix domain sockets with kept connections.
package main

import (
	"flag"
	"fmt"

	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/common/kept"
)

func main() {
	folder := flag.String("folder", "", "the folder of the sockets")
	number := flag.Uint64("number", 0, "the number of this worker")
	flag.Parse()
	fleet.EndWithCore()
	fail := func(err error) { fleet.Fail(*number, err) }

	self := fmt.Sprint("w", *number)
	listener, err := dial.Listen(*folder, self)
	if err != nil {
		fail(err)
	}
	if err := kept.RunWorker(listener, dial.InFolder(*folder), self, *number, fail); err != nil {
		fail(err)
	}
}
