package httpservices

import (
	"testing"

	"bakeoff.example/message-passing/common/systemtest"
)

func TestSystem(t *testing.T) {
	systemtest.System{
		Arguments: func(string) []string { return []string{"--port", "0"} },
	}.Check(t)
}
