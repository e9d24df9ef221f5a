package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/http-services/api"
)

// handler serves what the workers tell the core.
func handler(inbox *coordinator.Inbox) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /register", func(answer http.ResponseWriter, request *http.Request) {
		var registration api.Registration
		if read(answer, request, &registration, inbox) {
			inbox.Registered <- strconv.Itoa(registration.Port)
		}
	})
	mux.HandleFunc("POST /finish", func(answer http.ResponseWriter, request *http.Request) {
		var finish api.Finish
		if read(answer, request, &finish, inbox) {
			inbox.Finished <- finish
		}
	})
	return mux
}

// read reads the JSON of a request; what is malformed ends the run.
func read(answer http.ResponseWriter, request *http.Request, into any, inbox *coordinator.Inbox) bool {
	if err := json.NewDecoder(request.Body).Decode(into); err != nil {
		http.Error(answer, "malformed", http.StatusBadRequest)
		inbox.Failed <- fmt.Errorf("malformed %s: %w", request.URL.Path, err)
		return false
	}
	return true
}

// A wire is the core's side of the messages to the workers. A worker's address is its port.
type wire struct {
	core string // host and port of the core
}

// WorkerArguments implements coordinator.Wire.
func (w wire) WorkerArguments(n int) []string {
	return []string{"--core", w.core, "--number", strconv.Itoa(n)}
}

// Introduce implements coordinator.Wire. Over HTTP, Begin says it all.
func (w wire) Introduce(string, int, []string) error { return nil }

// Begin implements coordinator.Wire.
func (w wire) Begin(worker string, pings int, members []string) error {
	start := api.Start{PingLimit: pings}
	for _, member := range members {
		port, err := strconv.Atoi(member)
		if err != nil {
			return err
		}
		start.Neighbourhood = append(start.Neighbourhood, port)
	}
	return api.Post("http://127.0.0.1:"+worker+"/start", start)
}
