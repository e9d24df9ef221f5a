// Package systemtest tests a whole system: it builds the core and the worker, and really runs them.
package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline is the longest time that anything here may take.
const deadline = 60 * time.Second

// A System is a system whose module has the programs ./core and ./worker.
type System struct {
	// Arguments are the core's own arguments for a run; folder is an empty folder with a short path.
	Arguments func(folder string) []string
}

// Check tests that the system's pongs are exact and that it never leaves a process behind.
func (s System) Check(t *testing.T) {
	out := t.TempDir()
	build := exec.Command("go", "build", "-o", out+"/", "./core", "./worker")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	b := built{s, out}
	t.Run("pongs are exact", b.pongsAreExact)
	t.Run("bad sizes", b.badSizes)
	t.Run("a dead worker ends the run", b.aDeadWorkerEndsTheRun)
	t.Run("SIGTERM ends all", func(t *testing.T) { b.aSignalEndsAll(t, syscall.SIGTERM) })
	t.Run("SIGKILL ends all", func(t *testing.T) { b.aSignalEndsAll(t, syscall.SIGKILL) })
}

type built struct {
	System
	out string
}

// core makes the command of a run.
func (b built) core(t *testing.T, neighbourhoods, workers, pings int) *exec.Cmd {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return exec.Command(filepath.Join(b.out, "core"), append(b.Arguments(folder),
		"--worker", filepath.Join(b.out, "worker"), "--timeout", deadline.String(),
		"--neighbourhoods", strconv.Itoa(neighbourhoods),
		"--workers", strconv.Itoa(workers), "--pings", strconv.Itoa(pings))...)
}

func (b built) pongsAreExact(t *testing.T) {
	for _, size := range [][3]int{{1, 2, 1}, {1, 3, 200}, {3, 4, 50}, {4, 10, 25}} {
		command := b.core(t, size[0], size[1], size[2])
		var complaints bytes.Buffer
		command.Stderr = &complaints
		output, err := command.Output()
		if err != nil || complaints.Len() > 0 {
			t.Fatalf("%v: %v: %s", size, err, &complaints)
		}
		names, result := markers(t, output)
		slices.Sort(names)
		if got := strings.Join(names, " "); got != "finish registered result start startup" {
			t.Errorf("%v: markers %s", size, got)
		}
		if want := float64(size[0] * size[1] * size[2]); result["pongs"] != want {
			t.Errorf("%v: %v pongs, want %v", size, result["pongs"], want)
		}
		if result["wrong_neighbourhood"] != 0 {
			t.Errorf("%v: %v pongs from elsewhere", size, result["wrong_neighbourhood"])
		}
		if result["elapsed_s"] <= 0 {
			t.Errorf("%v: elapsed %v s", size, result["elapsed_s"])
		}
	}
}

func (b built) badSizes(t *testing.T) {
	for _, size := range [][3]int{{0, 2, 1}, {1, 1, 1}, {1, 2, 0}} {
		if output, err := b.core(t, size[0], size[1], size[2]).CombinedOutput(); err == nil {
			t.Errorf("%v was accepted: %s", size, output)
		}
	}
}

func (b built) aDeadWorkerEndsTheRun(t *testing.T) {
	command, complaints, workers := b.start(t)
	if err := syscall.Kill(workers[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(complaints)
	if err := command.Wait(); err == nil {
		t.Error("the core ended well")
	}
	if said := string(text); strings.Count(said, "\n") != 1 || !strings.Contains(said, fmt.Sprintf("process %d", workers[1])) &&
		!strings.Contains(said, "complaint") {
		t.Errorf("the core said %q", said)
	}
	gone(t, workers)
}

func (b built) aSignalEndsAll(t *testing.T, signal syscall.Signal) {
	command, complaints, workers := b.start(t)
	if err := command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(complaints)
	if err := command.Wait(); err == nil {
		t.Error("the core ended well")
	}
	if said := string(text); signal == syscall.SIGTERM && said != "core: told to end: terminated\n" {
		t.Errorf("the core said %q", said)
	}
	if signal == syscall.SIGTERM {
		for _, pid := range workers {
			if alive(pid) {
				t.Errorf("worker %d outlived the core", pid)
			}
		}
	}
	gone(t, workers)
}

// start starts a run that does not end soon, and returns when its workers send pings.
func (b built) start(t *testing.T) (command *exec.Cmd, complaints io.Reader, workers []int) {
	t.Helper()
	command = b.core(t, 2, 4, 1_000_000_000)
	complaints, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != "@bakeoff registered" {
	}
	time.Sleep(200 * time.Millisecond) // so that pings are on their way
	workers = children(t, command.Process.Pid)
	if len(workers) != 8 {
		t.Fatalf("%d workers, want 8", len(workers))
	}
	return command, complaints, workers
}

// markers reads the names of the markers and the data of the result.
func markers(t *testing.T, output []byte) (names []string, result map[string]float64) {
	t.Helper()
	for line := range strings.Lines(string(output)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if words[0] != "@bakeoff" {
			t.Fatalf("a line that is no marker: %q", line)
		}
		names = append(names, words[1])
		if words[1] == "result" {
			if err := json.Unmarshal([]byte(words[2]), &result); err != nil {
				t.Fatal(err)
			}
		}
	}
	return names, result
}

// children returns the process ids of a process's children.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// pid (command) state parent …
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && stat[bytes.LastIndexByte(stat, ')')+2] != 'Z'
}

// gone waits until the processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); slices.ContainsFunc(pids, alive); {
		if time.Now().After(end) {
			t.Fatal("workers outlived the core by 10 s")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
