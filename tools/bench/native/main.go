// The native load generator of the benchmark: one program, one subcommand per kind of load.
//
// What a load finds out it prints as one JSON object on standard output, every value a number; anything that goes
// wrong ends the program with a message on standard error and status 1. Most loads speak the protocol over plain
// sockets with requests that were encoded before the clock started, so that the client costs next to nothing; where
// a real client's behaviour matters (groups, idempotence, transactions, pacing) franz-go is that client.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Figures are what a load measured.
type Figures map[string]float64

var loads = map[string]func(arguments []string) (Figures, error){
	"produce":    produce,
	"fetch":      fetch,
	"client":     clientProduce,
	"paced":      paced,
	"rebalance":  rebalance,
	"crowd":      crowd,
	"handshakes": handshakes,
	"until-acks": untilAcknowledged,
}

func main() {
	if len(os.Args) < 2 || loads[os.Args[1]] == nil {
		names := make([]string, 0, len(loads))
		for name := range loads {
			names = append(names, name)
		}
		fail(fmt.Errorf("the first argument is one of %v", names))
	}
	figures, err := loads[os.Args[1]](os.Args[2:])
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "loadgen:", err)
	os.Exit(1)
}
