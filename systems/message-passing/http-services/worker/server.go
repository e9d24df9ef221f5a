package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/http-services/api"
)

// handler serves the worker's side.
func handler(p *pinger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set(api.WorkerHeader, p.worker.Self())
		_, _ = io.WriteString(answer, "pong") // an error is the pinger's to notice
	})
	mux.HandleFunc("POST /start", func(answer http.ResponseWriter, request *http.Request) {
		var start api.Start
		if err := json.NewDecoder(request.Body).Decode(&start); err != nil {
			http.Error(answer, "malformed", http.StatusBadRequest)
			fleet.Fail(p.number, fmt.Errorf("malformed /start: %w", err))
		}
		members := make([]string, len(start.Neighbourhood))
		for i, port := range start.Neighbourhood {
			members[i] = fmt.Sprint(port)
		}
		if err := p.worker.Join(start.PingLimit, members); err != nil {
			fleet.Fail(p.number, fmt.Errorf("malformed /start: %w", err))
		}
		go func() {
			if err := p.work(); err != nil {
				fleet.Fail(p.number, err)
			}
		}()
	})
	return mux
}
