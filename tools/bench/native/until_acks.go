package main

import (
	"flag"
	"fmt"
	"time"
)

// untilAcknowledged tries again and again to have a record acknowledged, by each partition of a topic, and tells how
// long it took until the first and until the last did.
func untilAcknowledged(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("until-acks", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	topic := options.String("topic", "load", "")
	partitions := options.Int("partitions", 1, "")
	patience := options.Duration("patience", 5*time.Minute, "")
	_ = options.Parse(arguments)
	records, err := batch(1, 100, "none", nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	figures := Figures{}
	for partition := range *partitions {
		request := produceFrame(*topic, partition, -1, records)
		for {
			if err = attempt(*address, request); err == nil {
				break
			}
			if time.Since(began) > *patience {
				return nil, fmt.Errorf("partition %d took no record within %v: %w", partition, *patience, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if partition == 0 {
			figures["first_s"] = time.Since(began).Seconds()
		}
	}
	figures["all_s"] = time.Since(began).Seconds()
	return figures, nil
}

func attempt(address string, request []byte) error {
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.socket.Close()
	if err := c.send(request); err != nil {
		return err
	}
	_ = c.socket.SetReadDeadline(time.Now().Add(time.Minute))
	body, err := c.receive(true)
	if err != nil {
		return err
	}
	return produced(body, produceVersion)
}
