// Works from a share group with franz-go as records' values say: main BOOTSTRAP GROUP TOPIC (see workers.py)
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.ShareGroup(os.Args[2]),
		kgo.ConsumeTopics(os.Args[3]),
		kgo.ShareMaxRecords(10),
		kgo.ShareMaxRecordsStrict(),
	)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			break
		}
		fetches.EachError(func(_ string, _ int32, err error) { fmt.Fprintln(os.Stderr, err) })
		records := fetches.Records()
		for _, record := range records {
			value := string(record.Value)
			fmt.Println("record", record.Partition, record.Offset, record.DeliveryCount(), value)
			switch {
			case strings.HasPrefix(value, "hold"):
				select {}
			case strings.HasPrefix(value, "renew"):
				for range 4 {
					record.Ack(kgo.AckRenew)
					if err := client.FlushAcks(ctx); err != nil {
						panic(err)
					}
					time.Sleep(500 * time.Millisecond)
				}
				record.Ack(kgo.AckAccept)
			case strings.HasPrefix(value, "release") && record.DeliveryCount() == 1:
				record.Ack(kgo.AckRelease)
			case strings.HasPrefix(value, "reject"):
				record.Ack(kgo.AckReject)
			default:
				record.Ack(kgo.AckAccept)
			}
		}
		if err := client.FlushAcks(ctx); err != nil && ctx.Err() == nil {
			panic(err)
		}
		for _, record := range records {
			fmt.Println("settled", record.Partition, record.Offset)
		}
	}
	client.Close()
	fmt.Println("closed")
}
