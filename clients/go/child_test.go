package fairlock_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

const (
	childServer = "FAIRLOCK_TEST_SERVER"
	childLease  = 500 * time.Millisecond
)

// runChildOr makes this program one that holds a lock, if it was started by a test.
func runChildOr(runTests func() int) int {
	address := os.Getenv(childServer)
	if address == "" {
		return runTests()
	}
	client := redis.NewClient(&redis.Options{Addr: address})
	lost := make(chan bool, 1)
	hold, err := fairlock.Lock(background, client, "k", fairlock.WithLease(childLease),
		fairlock.WithOnLost(func(*fairlock.Hold) { lost <- true }))
	if err != nil {
		return 1
	}
	during := hold.Context()
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(errors.Is(during.Err(), hold.Context().Err()), during.Err())
	_, err = hold.Token()
	fmt.Println(errors.Is(err, fairlock.ErrLostHold))
	fmt.Println(<-lost)
	return 0
}

type child struct {
	*exec.Cmd
	say  func(string)
	line func() string
}

func (b *bench) startChild() *child {
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), childServer+"="+b.server.address())
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, _ := program.StdinPipe()
	output, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { program.Process.Kill(); program.Wait() })
	lines := bufio.NewReader(output)
	return &child{program, func(text string) { fmt.Fprintln(input, text) }, func() string {
		text, _ := lines.ReadString('\n')
		return text
	}}
}

func TestStoppedProcessLearnsOfItsLossBeforeItActs(t *testing.T) {
	b := newBench(t)
	c := b.startChild()
	b.expect(c.line() == "held\n", "the child holds nothing")
	c.Process.Signal(syscall.SIGSTOP)
	hold := b.lock(b.client(), "k", fairlock.WithWait(waitMax))
	c.say("go on")
	c.Process.Signal(syscall.SIGCONT)
	for _, expected := range []string{"true context canceled\n", "true\n", "true\n"} {
		got := c.line()
		b.expect(got == expected, "got %q, expected %q", got, expected)
	}
	b.expectHeld(hold)
}

func TestProcessThatDiesLeavesItsLease(t *testing.T) {
	b := newBench(t)
	c := b.startChild()
	b.expect(c.line() == "held\n", "the child holds nothing")
	time.Sleep(2 * childLease) // The lease is renewed.
	b.expect(b.ask("LOCKED", "k") == int64(1), "it was not renewed")
	c.Process.Kill()
	b.unlock(b.lock(b.client(), "k", fairlock.WithWait(waitMax)))
}
