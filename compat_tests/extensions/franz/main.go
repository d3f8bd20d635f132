// Produces one batch of held and immediate records with franz-go and says what offset it reports for each:
// main BOOTSTRAP TOPIC
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.DefaultProduceTopic(os.Args[2]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ManualFlushing(),
	)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	offsets := make([]int64, 4)
	for index, delay := range []string{"", "200", "200", ""} {
		record := &kgo.Record{Key: []byte("k"), Value: []byte(fmt.Sprintf("v%d", index))}
		if delay != "" {
			record.Headers = []kgo.RecordHeader{{Key: "tide-delay", Value: []byte(delay)}}
		}
		client.TryProduce(context.Background(), record, func(sent *kgo.Record, err error) {
			if err != nil {
				panic(err)
			}
			offsets[index] = sent.Offset
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		panic(err)
	}
	for _, offset := range offsets {
		fmt.Println(offset)
	}
}
