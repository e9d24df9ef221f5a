package webserver

import (
	"flag"
	"fmt"
	"net"
	"os"
)

// ReadSize is how many bytes a connection reads at once.
const ReadSize = 2048

// Marker prints a marker. Standard output is not buffered in Go: who reads it gets it at once.
func Marker(name string) { fmt.Printf("@bakeoff %s\n", name) }

// AddressFromArguments gives the address from --host HOST --port PORT; it says how to use the program and ends if
// there is none.
func AddressFromArguments() string {
	host := flag.String("host", "", "address to listen on")
	port := flag.Uint("port", 0, "port to listen on")
	flag.Parse()
	if *host == "" || *port == 0 || *port > 65535 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return net.JoinHostPort(*host, fmt.Sprint(*port))
}
