// Package dial connects to sockets whose backlog may be full for a moment.
package dial

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"bakeoff.example/message-passing/common/protocol"
)

const (
	firstPause = 100 * time.Microsecond // before the second try; each further pause is twice as long
	lastPause  = 100 * time.Millisecond
	patience   = 2 * time.Second // all pauses together
)

// A Dialer connects to addresses and counts its retries. Many goroutines may use it.
type Dialer struct {
	network string                      // of package net
	resolve func(address string) string // makes a network address of an address
	retries atomic.Int64
}

// InFolder makes a dialer for Unix sockets in a folder, whose addresses are their names.
func InFolder(folder string) *Dialer {
	return &Dialer{network: "unix", resolve: func(name string) string { return filepath.Join(folder, name) }}
}

// Loopback makes a dialer for TCP, whose addresses are host and port, but for the core's, which is a name.
func Loopback(core string) *Dialer {
	return &Dialer{network: "tcp", resolve: func(address string) string {
		if address == protocol.Core {
			return core
		}
		return address
	}}
}

// Retries says how many connects had to be tried again.
func (d *Dialer) Retries() int { return int(d.retries.Load()) }

// Dial connects. A backlog that is full is tried again, with growing pauses, for a short while.
func (d *Dialer) Dial(address string) (net.Conn, error) {
	var waited time.Duration
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		connection, err := net.Dial(d.network, d.resolve(address))
		if err == nil {
			return connection, nil
		}
		full := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ECONNREFUSED)
		if !full || waited >= patience {
			return nil, fmt.Errorf("cannot connect to %s: %w", address, err)
		}
		time.Sleep(pause)
		waited += pause
		d.retries.Add(1)
	}
}

// Listen listens on a Unix socket of that name in a folder.
func Listen(folder, name string) (net.Listener, error) {
	const longest = 107 // bytes, of the path of a Unix socket
	path := filepath.Join(folder, name)
	if len(path) > longest {
		return nil, fmt.Errorf("the socket path %s has %d bytes, at most %d are allowed", path, len(path), longest)
	}
	return net.Listen("unix", path)
}
