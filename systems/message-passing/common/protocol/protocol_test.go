package protocol

import (
	"fmt"
	"slices"
	"testing"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/coordinator"
)

// A post keeps what was sent.
type post []string

func (p *post) Send(to string, m Message) error {
	*p = append(*p, fmt.Sprintf("%s %s %s", to, m.Op, m.Content))
	return nil
}

func (p *post) Retries() int { return 5 }

func TestAWorkerFromRegisterToFinish(t *testing.T) {
	var sent post
	p := NewPlayer(big.NewWorker("a", 0), &sent, func(err error) { t.Error(err) })
	if err := p.Register(); err != nil {
		t.Fatal(err)
	}
	for _, m := range []Message{
		New(Neighbourhood, Plan{2, []string{"a", "b"}}),
		New(Pong, Core),
		New(Ping, "b"),
		New(Pong, "b"),
		New(Pong, "b"),
		New(Ping, "b"),
	} {
		if err := p.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	want := post{
		`core register "a"`,
		`b ping "a"`,
		`b pong "a"`,
		`b ping "a"`,
		`core finish {"worker":"a","pongs":2,"wrongNeighbourhood":0,"retries":5}`,
		`b pong "a"`, // a worker that has finished goes on answering
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

func TestMalformedMessagesAreErrors(t *testing.T) {
	for _, m := range []Message{
		{"ping", []byte(`{}`)}, {"pong", []byte(`7`)}, {"ping", nil}, {"dance", []byte(`"b"`)},
		{"neighbourhood", []byte(`[]`)}, New(Neighbourhood, Plan{1, []string{"b", "c"}}),
	} {
		var sent post
		if err := NewPlayer(big.NewWorker("a", 0), &sent, nil).Take(m); err == nil {
			t.Errorf("%s %s was accepted", m.Op, m.Content)
		}
	}
}

func TestDeliver(t *testing.T) {
	inbox := coordinator.NewInbox()
	go func() {
		Deliver(New(Register, "a"), inbox)
		Deliver(New(Finish, big.Report{Worker: "a", Pongs: 2}), inbox)
		Deliver(New(Ping, "a"), inbox)
		Deliver(Message{Op: Finish, Content: []byte(`3`)}, inbox)
	}()
	if address := <-inbox.Registered; address != "a" {
		t.Errorf("registered %q", address)
	}
	if report := <-inbox.Finished; report.Pongs != 2 {
		t.Errorf("finished %+v", report)
	}
	for range 2 {
		if err := <-inbox.Failed; err == nil {
			t.Error("no error")
		}
	}
}
