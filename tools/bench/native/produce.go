package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceLoad sends requests that were encoded beforehand, over some connections, a bounded number in flight on each.
type produceLoad struct {
	address     string
	frames      [][]byte
	connections int
	depth       int
	perRequest  int
	requests    int
	pause       time.Duration
}

func produce(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("produce", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	topic := options.String("topic", "load", "")
	records := options.Int("records", 1_000_000, "in all")
	size := options.Int("size", 1024, "bytes of a value")
	partitions := options.Int("partitions", 1, "the topic's, used in turn")
	acks := options.Int("acks", -1, "")
	compression := options.String("compression", "none", "")
	perRequest := options.Int("batch", 16, "records of a batch; a request has one batch")
	connections := options.Int("connections", 4, "")
	depth := options.Int("depth", 5, "requests in flight on a connection")
	rate := options.Float64("rate", 0, "records per second in all; 0: as fast as it goes")
	headers := options.String("headers", "", "name=value,... on every record")
	only := options.String("only", "", "the numbers of the partitions that are used, such as 0,3; otherwise all")
	_ = options.Parse(arguments)

	built, err := batch(*perRequest, *size, *compression, headersOf(*headers))
	if err != nil {
		return nil, err
	}
	load := produceLoad{address: *address, connections: *connections, depth: *depth, perRequest: *perRequest}
	for partition := range *partitions {
		if *only == "" || slices.Contains(strings.Split(*only, ","), strconv.Itoa(partition)) {
			load.frames = append(load.frames, produceFrame(*topic, partition, int16(*acks), built))
		}
	}
	load.requests = max(1, *records / *perRequest / *connections)
	if *rate > 0 {
		load.pause = time.Duration(float64(*perRequest**connections) / *rate * float64(time.Second))
	}
	return load.run()
}

func headersOf(text string) []kmsg.Header {
	var headers []kmsg.Header
	for _, each := range strings.Split(text, ",") {
		if name, value, found := strings.Cut(each, "="); found {
			headers = append(headers, kmsg.Header{Key: name, Value: []byte(value)})
		}
	}
	return headers
}

// run starts all connections together and waits for the last.
func (l *produceLoad) run() (Figures, error) {
	opened := make([]*connection, l.connections)
	for number := range opened {
		var err error
		if opened[number], err = dial(l.address); err != nil {
			return nil, err
		}
		defer opened[number].socket.Close()
	}
	latencies := make([]Histogram, l.connections)
	errs := make([]error, l.connections)
	var group sync.WaitGroup
	began := time.Now()
	for number, each := range opened {
		group.Go(func() { errs[number] = l.pump(each, number, &latencies[number]) })
	}
	group.Wait()
	seconds := time.Since(began).Seconds()
	var all Histogram
	for number := range opened {
		if errs[number] != nil {
			return nil, errs[number]
		}
		all.Add(&latencies[number])
	}
	records := float64(l.requests * l.perRequest * l.connections)
	figures := Figures{"records": records, "seconds": seconds, "records_per_s": records / seconds}
	figures["requests"] = float64(l.requests * l.connections)
	all.Report(figures, "")
	return figures, nil
}

// flight holds what is under way on a connection: a place in `room` for each request, and when each was sent.
type flight struct {
	room chan struct{}
	sent chan time.Time
	over chan struct{}
}

// pump writes requests while another goroutine reads their answers.
func (l *produceLoad) pump(c *connection, first int, latencies *Histogram) error {
	f := flight{make(chan struct{}, l.depth), make(chan time.Time, l.depth), make(chan struct{})}
	var failed error
	go func() {
		defer close(f.over)
		failed = l.acknowledged(c, f, latencies)
	}()
	err := l.write(c, first, f)
	if err != nil {
		c.socket.Close()
	}
	<-f.over
	if failed != nil {
		return failed
	}
	return err
}

func (l *produceLoad) write(c *connection, first int, f flight) error {
	began := time.Now()
	for number := range l.requests {
		due := began.Add(time.Duration(number) * l.pause)
		if l.pause > 0 {
			sleepUntil(due)
		}
		select {
		case f.room <- struct{}{}:
		case <-f.over:
			return nil
		}
		if l.pause == 0 {
			due = time.Now()
		}
		f.sent <- due
		if _, err := c.writer.Write(l.frames[(first+number*l.connections)%len(l.frames)]); err != nil {
			return fmt.Errorf("writing request %d: %w", number, err)
		}
		// As long as more may be sent at once, it goes out together.
		if l.pause > 0 || len(f.room) == l.depth {
			if err := c.writer.Flush(); err != nil {
				return err
			}
		}
	}
	return c.writer.Flush()
}

func (l *produceLoad) acknowledged(c *connection, f flight, latencies *Histogram) error {
	for number := range l.requests {
		body, err := c.receive(true)
		if err != nil {
			return fmt.Errorf("reading answer %d: %w", number, err)
		}
		if err := produced(body, produceVersion); err != nil {
			return err
		}
		latencies.Observe(time.Since(<-f.sent), int64(l.perRequest))
		<-f.room
	}
	return nil
}
