// Server is the standard library's web server, as it comes.
package main

import (
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"bakeoff/webserver"
)

func main() {
	webserver.Marker("startup")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", hello)
	mux.HandleFunc("GET /sleep/{ms}", sleep)
	mux.HandleFunc("GET /fibonacci/{i}", fibonacci)
	listener, err := net.Listen("tcp", webserver.AddressFromArguments())
	if err != nil {
		log.Fatal(err)
	}
	webserver.Marker("ready")
	log.Fatal(http.Serve(listener, mux))
}

// What fails when an answer is written is the connection, and then there is nobody to tell.

func hello(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(webserver.Hello))
}

func sleep(w http.ResponseWriter, r *http.Request) {
	ms, ok := webserver.ParseNumber(r.PathValue("ms"), webserver.MaxSleep)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
}

func fibonacci(w http.ResponseWriter, r *http.Request) {
	i, ok := webserver.ParseNumber(r.PathValue("i"), webserver.MaxFibonacci)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte(strconv.FormatUint(webserver.Fibonacci(i), 10)))
}
