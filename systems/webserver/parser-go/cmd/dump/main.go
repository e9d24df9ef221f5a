// Dump reads inputs from standard input, each after its length (four bytes, the lowest first), and prints what the
// parser makes of each, one JSON object a line. parser-vectors/compare.py sets the languages' programs against each
// other. An argument N feeds the inputs in pieces of N bytes.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math"
	"os"
	"strconv"

	"bakeoff/webserver/internal/observe"
)

func main() {
	size := math.MaxInt
	if len(os.Args) > 1 {
		var err error
		if size, err = strconv.Atoi(os.Args[1]); err != nil || size < 1 {
			log.Fatal("usage: dump [SIZE]")
		}
	}
	output := bufio.NewWriter(os.Stdout)
	if err := dump(bufio.NewReader(os.Stdin), json.NewEncoder(output), size); err != nil {
		log.Fatal(err)
	}
	if err := output.Flush(); err != nil {
		log.Fatal(err)
	}
}

func dump(input io.Reader, output *json.Encoder, size int) error {
	for {
		var length uint32
		if err := binary.Read(input, binary.LittleEndian, &length); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(input, data); err != nil {
			return err
		}
		if err := output.Encode(observe.Feed(observe.Pieces(data, size)...)); err != nil {
			return err
		}
	}
}
