// Package fleet starts the worker processes of a run, notices when one dies, and ends them all.
//
// Two pipes tie the workers to the core. The lifeline is every worker's standard input: nothing is ever
// written to it, and its end, by the core's order or by the core's death, tells the workers to end. The
// other one is every worker's standard error, so that the core can say what the first failing worker said.
package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Fleet is the worker processes of one run. It expects that the program has no other children.
type Fleet struct {
	program string

	workerStdin, lifeline *os.File
	workerStderr          *os.File
	complaint             chan string   // the first line on the workers' standard error, if any
	started               chan struct{} // a token for each process to wait for
	died                  chan struct{} // closed at the first unwanted death
	ended                 chan struct{} // closed when all processes have ended, after End was called

	mu      sync.Mutex
	running map[int]member // by process id
	ending  bool
	death   error // the first unwanted death
}

type member struct {
	number  int
	process *os.Process
}

// New makes a fleet of at most size workers that run the program.
func New(program string, size int) (*Fleet, error) {
	workerStdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	complaints, workerStderr, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, workerStdin.Close(), lifeline.Close())
	}
	f := &Fleet{
		program:      program,
		workerStdin:  workerStdin,
		lifeline:     lifeline,
		workerStderr: workerStderr,
		complaint:    make(chan string, 1),
		started:      make(chan struct{}, size),
		died:         make(chan struct{}),
		ended:        make(chan struct{}),
		running:      make(map[int]member, size),
	}
	go f.listen(complaints)
	go f.reap()
	return f, nil
}

// Start starts worker number n with these arguments.
func (f *Fleet) Start(n int, arguments ...string) error {
	command := exec.Command(f.program, arguments...)
	command.Stdin = f.workerStdin
	command.Stderr = f.workerStderr
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := command.Start(); err != nil {
		return fmt.Errorf("cannot start worker %d: %w", n, err)
	}
	f.running[command.Process.Pid] = member{n, command.Process}
	f.started <- struct{}{}
	return nil
}

// Died is closed when a worker dies that nobody told to end. End says which and why.
func (f *Fleet) Died() <-chan struct{} { return f.died }

// End tells all workers to end, kills those that have not after grace, waits for all of them,
// and returns what went wrong with them since the start. It must be called once, after the last Start.
func (f *Fleet) End(grace time.Duration) error {
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	close(f.started)
	f.lifeline.Close()
	f.workerStdin.Close()
	f.workerStderr.Close()

	var late error
	select {
	case <-f.ended:
	case <-time.After(grace):
		late = f.kill(grace)
		<-f.ended
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if complaint := <-f.complaint; complaint != "" && f.death != nil {
		return fmt.Errorf("%w; first complaint: %s", f.death, complaint)
	}
	return errors.Join(f.death, late)
}

// kill kills the workers that still run. Through their pidfd this never hits another process.
func (f *Fleet) kill(grace time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, worker := range f.running {
		_ = worker.process.Kill() // it may just have ended
	}
	return fmt.Errorf("%d workers did not end within %v and were killed", len(f.running), grace)
}

// listen keeps the first line that a worker writes to its standard error and drops the rest.
func (f *Fleet) listen(complaints *os.File) {
	defer complaints.Close()
	reader := bufio.NewReader(complaints)
	first, _ := reader.ReadString('\n')
	_, _ = io.Copy(io.Discard, reader)
	f.complaint <- strings.TrimSpace(first)
}

// reap waits for the processes as they end: one goroutine for all, as a thread for each would be a cost
// of the system that the benchmark does not ask for.
func (f *Fleet) reap() {
	defer close(f.ended)
	for range f.started {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		for errors.Is(err, syscall.EINTR) {
			pid, err = syscall.Wait4(-1, &status, 0, nil)
		}
		f.note(pid, status, err)
	}
}

// note takes a process that has ended off the list, and remembers the first death that was unwanted.
func (f *Fleet) note(pid int, status syscall.WaitStatus, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	worker := f.running[pid]
	delete(f.running, pid)
	switch {
	case f.death != nil || f.ending:
		return
	case err != nil:
		f.death = fmt.Errorf("cannot wait for the workers: %w", err)
	case status.Signaled():
		f.death = fmt.Errorf("worker %d (process %d) died: %v", worker.number, pid, status.Signal())
	default:
		f.death = fmt.Errorf("worker %d (process %d) ended early with code %d", worker.number, pid, status.ExitStatus())
	}
	close(f.died)
}
