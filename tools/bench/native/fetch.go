package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	fetchVersion = 12
	batchHeader  = 61
	countAt      = 57
	lastDeltaAt  = 23
)

// fetchLoad reads partitions from their beginnings, shared out among consumers; of a batch only the header is looked at.
type fetchLoad struct {
	address    string
	topic      string
	partitions int
	consumers  int
	records    int
	scattered  int
	spread     int64
}

func fetch(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("fetch", flag.ExitOnError)
	var l fetchLoad
	options.StringVar(&l.address, "address", "127.0.0.1:9092", "host:port")
	options.StringVar(&l.topic, "topic", "load", "")
	options.IntVar(&l.partitions, "partitions", 1, "the topic's")
	options.IntVar(&l.consumers, "consumers", 1, "")
	options.IntVar(&l.records, "records", 1_000_000, "in all, of all partitions together")
	options.IntVar(&l.scattered, "scattered", 0, "instead: so many small reads in all, each at a random offset")
	options.Int64Var(&l.spread, "spread", 1, "the offsets of those lie below this")
	_ = options.Parse(arguments)
	return l.run()
}

func (l *fetchLoad) run() (Figures, error) {
	latencies := make([]Histogram, l.consumers)
	read := make([]int64, l.consumers)
	errs := make([]error, l.consumers)
	var group sync.WaitGroup
	began := time.Now()
	for number := range l.consumers {
		group.Go(func() { read[number], errs[number] = l.consume(number, &latencies[number]) })
	}
	group.Wait()
	seconds := time.Since(began).Seconds()
	var all Histogram
	var records float64
	for number := range l.consumers {
		if errs[number] != nil {
			return nil, errs[number]
		}
		all.Add(&latencies[number])
		records += float64(read[number])
	}
	figures := Figures{"records": records, "seconds": seconds, "records_per_s": records / seconds}
	figures["requests"] = float64(all.total)
	all.Report(figures, "")
	return figures, nil
}

func (l *fetchLoad) consume(number int, latencies *Histogram) (int64, error) {
	c, err := dial(l.address)
	if err != nil {
		return 0, err
	}
	defer c.socket.Close()
	if l.scattered > 0 {
		return l.readScattered(c, number, latencies)
	}
	return l.readAll(c, number, latencies)
}

// readAll has one request in flight, as a consumer has it, for all of its partitions that are not read to the end.
func (l *fetchLoad) readAll(c *connection, number int, latencies *Histogram) (int64, error) {
	wanted := map[int32]int64{}
	each := int64(l.records / l.partitions)
	for partition := number; partition < l.partitions; partition += l.consumers {
		wanted[int32(partition)] = 0
	}
	var total int64
	for len(wanted) > 0 {
		found, err := l.ask(c, wanted, 1<<20, latencies)
		if err != nil {
			return total, err
		}
		total += found
		for partition, offset := range wanted {
			if offset >= each {
				delete(wanted, partition)
			}
		}
	}
	return total, nil
}

func (l *fetchLoad) readScattered(c *connection, number int, latencies *Histogram) (int64, error) {
	random := rand.New(rand.NewSource(int64(number)))
	var total int64
	for range l.scattered / l.consumers {
		partition := int32(random.Intn(l.partitions))
		found, err := l.ask(c, map[int32]int64{partition: random.Int63n(l.spread)}, 16<<10, latencies)
		if err != nil {
			return total, err
		}
		total += found
	}
	return total, nil
}

// ask sends a Fetch for each partition's offset, moves these on and returns how many records came.
func (l *fetchLoad) ask(c *connection, wanted map[int32]int64, most int32, latencies *Histogram) (int64, error) {
	request := kmsg.NewPtrFetchRequest()
	request.SetVersion(fetchVersion)
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 500, 1, 50<<20
	request.SessionEpoch = -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = l.topic
	for partition, offset := range wanted {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = partition, offset, most
		topic.Partitions = append(topic.Partitions, part)
	}
	request.Topics = append(request.Topics, topic)
	began := time.Now()
	if err := c.send(frame(request)); err != nil {
		return 0, err
	}
	body, err := c.receive(true)
	if err != nil {
		return 0, err
	}
	latencies.Observe(time.Since(began), 1)
	return take(body, wanted)
}

func take(body []byte, wanted map[int32]int64) (int64, error) {
	var response kmsg.FetchResponse
	response.SetVersion(fetchVersion)
	if err := response.ReadFrom(body); err != nil {
		return 0, err
	}
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return 0, err
	}
	var total int64
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return 0, fmt.Errorf("partition %d: %w", partition.Partition, err)
			}
			count, next := counted(partition.RecordBatches)
			total += count
			if count > 0 {
				wanted[partition.Partition] = next
			}
		}
	}
	return total, nil
}

// counted is how many records there are in whole batches, and the offset after the last.
func counted(batches []byte) (count, next int64) {
	for len(batches) >= batchHeader {
		length := 12 + int(binary.BigEndian.Uint32(batches[8:]))
		if length > len(batches) {
			break
		}
		count += int64(binary.BigEndian.Uint32(batches[countAt:]))
		next = int64(binary.BigEndian.Uint64(batches)) + int64(binary.BigEndian.Uint32(batches[lastDeltaAt:])) + 1
		batches = batches[length:]
	}
	return count, next
}
