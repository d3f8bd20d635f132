package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientProduce sends with franz-go, idempotent as it is by default, or in transactions of a given length.
func clientProduce(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("client", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	topic := options.String("topic", "load", "")
	records := options.Int("records", 1_000_000, "")
	size := options.Int("size", 100, "")
	transaction := options.Duration("transaction", 0, "length of a transaction; 0: none")
	_ = options.Parse(arguments)
	settings := []kgo.Opt{
		kgo.SeedBrokers(*address),
		kgo.DefaultProduceTopic(*topic),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(20_000),
	}
	if *transaction > 0 {
		settings = append(settings, kgo.TransactionalID(*topic))
	}
	client, err := kgo.NewClient(settings...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	run := clientRun{client: client, payload: value(*size, rand.New(rand.NewSource(7)))}
	began := time.Now()
	if err := run.all(*records, *transaction); err != nil {
		return nil, err
	}
	seconds := time.Since(began).Seconds()
	figures := Figures{"records": float64(*records), "seconds": seconds, "records_per_s": float64(*records) / seconds}
	figures["transactions"] = float64(run.transactions)
	run.latencies.Report(figures, "")
	return figures, nil
}

type clientRun struct {
	client       *kgo.Client
	payload      []byte
	latencies    Histogram
	guard        sync.Mutex
	failed       atomic.Value
	transactions int
}

func (r *clientRun) all(records int, transaction time.Duration) error {
	if transaction > 0 {
		return r.inTransactions(records, transaction)
	}
	for range records {
		r.send()
	}
	if err := r.client.Flush(context.Background()); err != nil {
		return err
	}
	return r.failure()
}

func (r *clientRun) inTransactions(records int, transaction time.Duration) error {
	for left := records; left > 0; r.transactions++ {
		if err := r.client.BeginTransaction(); err != nil {
			return err
		}
		for began := time.Now(); left > 0 && time.Since(began) < transaction; left-- {
			r.send()
		}
		if err := r.client.Flush(context.Background()); err != nil {
			return err
		}
		if err := r.failure(); err != nil {
			return err
		}
		if err := r.client.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			return err
		}
	}
	return nil
}

func (r *clientRun) send() {
	began := time.Now()
	r.client.Produce(context.Background(), &kgo.Record{Value: r.payload}, func(_ *kgo.Record, err error) {
		if err != nil {
			r.failed.CompareAndSwap(nil, fmt.Errorf("a record was refused: %w", err))
		}
		r.guard.Lock()
		r.latencies.Observe(time.Since(began), 1)
		r.guard.Unlock()
	})
}

func (r *clientRun) failure() error {
	if err, failed := r.failed.Load().(error); failed {
		return err
	}
	return nil
}
