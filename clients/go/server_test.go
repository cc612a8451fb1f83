package fairlock_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	startMax  = 20 * time.Second
	startsMax = 5
)

// portLeases stay open until the process ends.
var portLeases struct {
	sync.Mutex
	listeners []net.Listener
}

// freePort returns a free port, which no other process of the tests gets before this process ends:
// see free_port in tests/integration/own_server.py, which states the rule for all languages.
func freePort(t testing.TB) int {
	for i := 0; i < 1000; i++ {
		port := 20000 + 2*rand.Intn(6000)
		lease, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			lease.Close()
			continue
		}
		probe.Close()
		portLeases.Lock()
		defer portLeases.Unlock()
		portLeases.listeners = append(portLeases.listeners, lease)
		return port
	}
	t.Fatal("there is no free port")
	return 0
}

// server is a process on a free port of this machine.
type server struct {
	t       testing.TB
	folder  string
	program string
	options []string
	port    int
	process *exec.Cmd
	output  bytes.Buffer
	ended   chan struct{} // closed when the process has ended with code
	code    error
}

func newServer(t testing.TB, options ...string) *server {
	program := os.Getenv("FAIRLOCKD")
	if program == "" {
		t.Fatal("FAIRLOCKD must name the server program")
	}
	folder := t.TempDir()
	return startAnywhere(&server{t: t, program: program, folder: folder, options: append([]string{
		"--bind", "127.0.0.1", "--http-port", "0", "--unix-socket",
		filepath.Join(folder, "socket")}, options...)})
}

// newKeptServer has persistence, and can be killed and started again.
func newKeptServer(t testing.TB) *server {
	return newServer(t, "--durability", "async", "--min-free-disk", "0", "--data-dir",
		filepath.Join(t.TempDir(), "data"))
}

func newEphemeralServer(t testing.TB, options ...string) *server {
	return newServer(t, append([]string{"--durability", "none"}, options...)...)
}

func newRedisServer(t testing.TB) *server {
	return startAnywhere(&server{t: t, program: "redis-server", folder: t.TempDir(),
		options: []string{"--bind", "127.0.0.1", "--save", ""}})
}

// startAnywhere tries several ports: another process may take one meanwhile.
func startAnywhere(s *server) *server {
	s.t.Cleanup(s.kill)
	for i := 0; i < startsMax; i++ {
		s.port = freePort(s.t)
		if s.start() {
			return s
		}
		s.kill()
	}
	s.t.Fatalf("%s did not start: %s", s.program, &s.output)
	return nil
}

func (s *server) start() bool {
	s.process = exec.Command(s.program, append([]string{"--port", fmt.Sprint(s.port)},
		s.options...)...)
	s.process.Dir = s.folder
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(ended chan struct{}) {
		s.code = s.process.Wait()
		close(ended)
	}(s.ended)
	return s.awaitAnswer()
}

// awaitAnswer returns false if the process ends.
func (s *server) awaitAnswer() bool {
	client := redis.NewClient(&redis.Options{Addr: s.address(), ReadTimeout: time.Second})
	defer client.Close()
	for giveUp := time.Now().Add(startMax); time.Now().Before(giveUp); {
		err := client.Ping(background).Err()
		select {
		case <-s.ended:
			return false // The answer may be from another server.
		case <-time.After(2 * time.Millisecond):
		}
		if err == nil || strings.HasPrefix(err.Error(), "NOAUTH") {
			return true
		}
	}
	return false
}

func (s *server) startAgain() {
	if !s.start() {
		s.t.Fatal("the server did not start again")
	}
}

func (s *server) kill() {
	if s.ended != nil {
		s.process.Process.Kill()
		<-s.ended
	}
}

func (s *server) stop() {
	s.process.Process.Signal(syscall.SIGTERM)
	<-s.ended
	if s.code != nil {
		s.t.Errorf("the server ended with %v", s.code)
	}
}

func (s *server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
