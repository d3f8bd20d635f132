package main

import (
	"flag"
	"sync"
	"sync/atomic"
	"time"
)

const crowdBuffer = 4 << 10

// crowd opens many connections that each send a small Produce now and then, and tells what one more producer, steady
// and on its own connection, notices of them.
func crowd(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("crowd", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	topic := options.String("topic", "crowd", "of the crowd")
	partitions := options.Int("partitions", 1000, "of that topic")
	connections := options.Int("connections", 2000, "")
	every := options.Duration("every", 4*time.Second, "between two records of a connection")
	other := options.String("other", "other", "the topic of the one more producer")
	rate := options.Float64("rate", 500, "its records per second")
	duration := options.Duration("duration", 10*time.Second, "")
	_ = options.Parse(arguments)
	records, err := batch(1, 200, "none", nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	opened, err := openAll(*address, *connections)
	if err != nil {
		return nil, err
	}
	connected := time.Since(began).Seconds()
	stop := make(chan struct{})
	var sent atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(opened))
	for number, each := range opened {
		defer each.socket.Close()
		request := produceFrame(*topic, number%*partitions, -1, records)
		begin := time.Duration(number) * *every / time.Duration(len(opened))
		group.Go(func() { errs[number] = mutter(each, request, begin, *every, stop, &sent) })
	}
	load := produceLoad{address: *address, connections: 1, depth: 100, perRequest: 1}
	load.frames = [][]byte{produceFrame(*other, 0, -1, records)}
	load.requests = int(*rate * duration.Seconds())
	load.pause = time.Duration(float64(time.Second) / *rate)
	figures, err := load.run()
	close(stop)
	group.Wait()
	for _, each := range errs {
		if each != nil {
			return nil, each
		}
	}
	if err != nil {
		return nil, err
	}
	figures["connect_s"] = connected
	figures["records"] += float64(sent.Load())
	return figures, nil
}

func openAll(address string, count int) ([]*connection, error) {
	opened := make([]*connection, count)
	for number := range opened {
		var err error
		if opened[number], err = dialWith(address, crowdBuffer); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// mutter sends the same request again and again, each after its answer.
func mutter(
	c *connection, request []byte, begin, every time.Duration, stop <-chan struct{}, sent *atomic.Int64,
) error {
	for due := time.Now().Add(begin); ; due = due.Add(every) {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Until(due)):
		}
		if err := c.send(request); err != nil {
			return err
		}
		body, err := c.receive(true)
		if err != nil {
			return err
		}
		if err := produced(body, produceVersion); err != nil {
			return err
		}
		sent.Add(1)
	}
}
