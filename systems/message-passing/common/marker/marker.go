// Package marker prints the lab's markers.
package marker

import (
	"encoding/json"
	"fmt"
	"os"
)

// Print prints the marker of that name.
func Print(name string) {
	fmt.Fprintf(os.Stdout, "@bakeoff %s\n", name)
}

// PrintWith prints a marker that carries data, which must become a JSON object.
func PrintWith(name string, data any) error {
	line, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("marker %s: %w", name, err)
	}
	_, err = fmt.Fprintf(os.Stdout, "@bakeoff %s %s\n", name, line)
	return err
}
