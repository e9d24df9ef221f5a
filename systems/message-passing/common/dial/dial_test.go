package dial

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestARefusalIsTriedAgain(t *testing.T) {
	folder := t.TempDir()
	// A socket that is bound and does not listen refuses connections.
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Bind(socket, &syscall.SockaddrUnix{Name: filepath.Join(folder, "late")}); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = syscall.Listen(socket, 1)
	}()
	d := InFolder(folder)
	connection, err := d.Dial("late")
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
	if d.Retries() == 0 {
		t.Error("no retry was counted")
	}
}

func TestAFullBacklogIsAnErrorInTheEnd(t *testing.T) {
	folder := t.TempDir()
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Bind(socket, &syscall.SockaddrUnix{Name: filepath.Join(folder, "full")}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	d := InFolder(folder)
	var kept []net.Conn
	for range 3 {
		connection, err := d.Dial("full")
		if err != nil {
			if d.Retries() < 5 {
				t.Errorf("given up after %d retries", d.Retries())
			}
			return
		}
		kept = append(kept, connection)
	}
	t.Errorf("%d connections to a socket without a backlog", len(kept))
}

func TestAMissingSocketIsAnErrorAtOnce(t *testing.T) {
	d := InFolder(t.TempDir())
	if _, err := d.Dial("nobody"); err == nil || d.Retries() != 0 {
		t.Errorf("error %v after %d retries", err, d.Retries())
	}
}

func TestPathsThatAreTooLong(t *testing.T) {
	if _, err := Listen(strings.Repeat("x", 107), "w1"); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("got %v", err)
	}
}
