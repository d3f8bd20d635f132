package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pacedLoad sends records at a steady rate and reads them at the tail of the log: how long until each is acknowledged,
// and until it is in a consumer's hands. A latency counts from when the record was due, so a stall is not hidden.
type pacedLoad struct {
	address   string
	topic     string
	rate      float64
	duration  time.Duration
	warmUp    time.Duration
	size      int
	groups    int
	began     time.Time
	published Histogram
	arrived   []Histogram
	seen      []atomic.Int64
	guard     sync.Mutex
	failed    atomic.Value
}

func paced(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("paced", flag.ExitOnError)
	var l pacedLoad
	options.StringVar(&l.address, "address", "127.0.0.1:9092", "host:port")
	options.StringVar(&l.topic, "topic", "load", "")
	options.Float64Var(&l.rate, "rate", 1000, "records per second")
	options.DurationVar(&l.duration, "duration", 10*time.Second, "after the warm-up")
	options.DurationVar(&l.warmUp, "warm-up", 2*time.Second, "not counted")
	options.IntVar(&l.size, "size", 200, "bytes of a value")
	options.IntVar(&l.groups, "groups", 0, "consumer groups of one member; 0: one consumer without a group")
	_ = options.Parse(arguments)
	consumers := max(1, l.groups)
	l.arrived, l.seen = make([]Histogram, consumers), make([]atomic.Int64, consumers)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := l.startConsumers(ctx, consumers); err != nil {
		return nil, err
	}
	sent, err := l.produce()
	if err != nil {
		return nil, err
	}
	return l.finish(int64(sent))
}

// startConsumers returns when each of them has read a first record: before, a group may not have its partitions yet.
func (l *pacedLoad) startConsumers(ctx context.Context, consumers int) error {
	for number := range consumers {
		settings := []kgo.Opt{kgo.SeedBrokers(l.address), kgo.ConsumeTopics(l.topic)}
		settings = append(settings, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if l.groups > 0 {
			settings = append(settings, kgo.ConsumerGroup(fmt.Sprintf("paced-%s-%d", l.topic, number)))
		}
		client, err := kgo.NewClient(settings...)
		if err != nil {
			return err
		}
		go l.consume(ctx, client, number)
	}
	first, err := kgo.NewClient(kgo.SeedBrokers(l.address), kgo.DefaultProduceTopic(l.topic))
	if err != nil {
		return err
	}
	defer first.Close()
	if err := first.ProduceSync(ctx, &kgo.Record{Value: make([]byte, l.size)}).FirstErr(); err != nil {
		return err
	}
	return l.wait(1, time.Minute)
}

func (l *pacedLoad) wait(records int64, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		missing := 0
		for number := range l.seen {
			if l.seen[number].Load() < records {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d consumers had not read %d records within %v", missing, records, patience)
		}
	}
}

func (l *pacedLoad) consume(ctx context.Context, client *kgo.Client, number int) {
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		now := time.Now()
		fetches.EachRecord(func(record *kgo.Record) {
			if due := int64(binary.BigEndian.Uint64(record.Value)); due > l.warmUp.Nanoseconds() {
				l.arrived[number].Observe(now.Sub(l.began)-time.Duration(due), 1)
			}
			l.seen[number].Add(1)
		})
	}
}

// produce returns how many records it sent.
func (l *pacedLoad) produce() (int, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(l.address),
		kgo.DefaultProduceTopic(l.topic),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
	)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if err := client.Ping(context.Background()); err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	count := int(l.rate * (l.warmUp + l.duration).Seconds())
	l.began = time.Now()
	for number := range count {
		due := time.Duration(float64(number) / l.rate * float64(time.Second))
		sleepUntil(l.began.Add(due))
		l.send(client, due)
	}
	if err := client.Flush(context.Background()); err != nil {
		return 0, err
	}
	if err, failed := l.failed.Load().(error); failed {
		return 0, err
	}
	return count, nil
}

func (l *pacedLoad) send(client *kgo.Client, due time.Duration) {
	payload := make([]byte, max(8, l.size))
	binary.BigEndian.PutUint64(payload, uint64(due.Nanoseconds()))
	client.Produce(context.Background(), &kgo.Record{Value: payload}, func(_ *kgo.Record, err error) {
		if err != nil {
			l.failed.CompareAndSwap(nil, fmt.Errorf("a record was refused: %w", err))
		}
		if due > l.warmUp {
			taken := time.Since(l.began) - due
			l.guard.Lock()
			l.published.Observe(taken, 1)
			l.guard.Unlock()
		}
	})
}

func (l *pacedLoad) finish(sent int64) (Figures, error) {
	produced := time.Since(l.began).Seconds()
	if err := l.wait(sent+1, time.Minute); err != nil {
		return nil, err
	}
	seconds := time.Since(l.began).Seconds()
	var all Histogram
	for number := range l.arrived {
		all.Add(&l.arrived[number])
	}
	delivered := float64(sent) * float64(len(l.arrived))
	figures := Figures{"records": delivered, "seconds": seconds, "records_per_s": delivered / seconds}
	figures["sent_per_s"] = float64(sent) / produced
	all.Report(figures, "")
	l.published.Report(figures, "publish_")
	return figures, nil
}
