package udsservices

import (
	"testing"

	"bakeoff.example/message-passing/common/systemtest"
)

func TestSystem(t *testing.T) {
	systemtest.System{
		Arguments: func(folder string) []string { return []string{"--folder", folder} },
	}.Check(t)
}
