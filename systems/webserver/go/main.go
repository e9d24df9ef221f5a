// Server runs a goroutine for each connection, with nothing but the standard library.
package main

import (
	"log"
	"net"
	"strconv"
	"time"

	"bakeoff/webserver"
)

func main() {
	webserver.Marker("startup")
	// Go asks for the longest backlog that the kernel allows.
	listener, err := net.Listen("tcp", webserver.AddressFromArguments())
	if err != nil {
		log.Fatal(err)
	}
	webserver.Marker("ready")
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Print(err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go serve(connection)
	}
}

// serve serves one connection to its end. What fails is the connection, and then there is nobody to tell.
func serve(connection net.Conn) {
	defer connection.Close()
	var parser webserver.Parser
	input := make([]byte, webserver.ReadSize)
	var output []byte
	for {
		var response webserver.Response
		var closing bool
		request, err := parser.NextRequest()
		switch {
		case err != nil:
			response, closing = webserver.Malformed(err), true
		case request == nil:
			count, err := connection.Read(input)
			if err != nil {
				return
			}
			parser.Append(input[:count])
			continue
		default:
			response, closing = run(webserver.Route(request)), !request.KeepAlive
		}
		output = response.Serialise(closing, output[:0])
		if _, err := connection.Write(output); err != nil || closing {
			return
		}
	}
}

func run(action webserver.Action) webserver.Response {
	switch action.Kind {
	case webserver.Sleep:
		time.Sleep(action.Time)
		return webserver.Response{Status: 200}
	case webserver.ComputeFibonacci:
		return webserver.Response{Status: 200, Body: strconv.FormatUint(webserver.Fibonacci(action.Number), 10)}
	default:
		return action.Response
	}
}
