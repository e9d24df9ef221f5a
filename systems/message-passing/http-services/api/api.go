// Package api is what the core and the workers say to each other over HTTP.
package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"bakeoff.example/message-passing/common/big"
)

// A Registration is the body of POST /register at the core.
type Registration struct {
	Port int `json:"port"`
}

// A Start is the body of POST /start at a worker.
type Start struct {
	PingLimit     int   `json:"pingLimit"`
	Neighbourhood []int `json:"neighbourhood"` // the ports of all its workers
}

// A Finish is the body of POST /finish at the core.
type Finish = big.Report

// WorkerHeader is the header of a pong that says which worker sends it: its port.
const WorkerHeader = "Worker"

// Post posts a JSON document with the default client.
func Post(url string, document any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.100q", url, answer.Status, text)
	}
	return nil
}

// Ping sends a ping with the default client and returns the port of the worker whose pong came back.
// The body is read to its end, so that the client can keep the connection for the next ping.
func Ping(port string) (from string, err error) {
	url := "http://127.0.0.1:" + port + "/ping"
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK || string(text) != "pong" {
		return "", fmt.Errorf("%s: no pong but %s: %.100q", url, answer.Status, text)
	}
	return answer.Header.Get(WorkerHeader), nil
}
