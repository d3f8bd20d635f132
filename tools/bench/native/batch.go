package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	produceVersion = 9
	batchOverhead  = 49
	crcFrom        = 21
)

// words make values that compress about as well as text or JSON does.
var words = []string{"offset", "tide", "partition", "{\"id\":", "customer", "2026-", "true", "amount", "null", "status"}

func value(size int, random *rand.Rand) []byte {
	var text bytes.Buffer
	for text.Len() < size {
		fmt.Fprintf(&text, "%s %x,", words[random.Intn(len(words))], random.Uint32())
	}
	return text.Bytes()[:size]
}

// batch is a record batch of so many records, as a producer without a producer id sends it.
func batch(count, size int, compression string, headers []kmsg.Header) ([]byte, error) {
	random := rand.New(rand.NewSource(7))
	var records []byte
	for number := range count {
		record := kmsg.Record{OffsetDelta: int32(number), Value: value(size, random), Headers: headers}
		// The length's own varint is written as one byte as long as it is 0.
		record.Length = int32(len(record.AppendTo(nil)) - 1)
		records = record.AppendTo(records)
	}
	codec, attributes, err := codecOf(compression)
	if err != nil {
		return nil, err
	}
	if codec != nil {
		compressed, used := codec.Compress(new(bytes.Buffer), records)
		if int16(used) != attributes {
			return nil, fmt.Errorf("the compressor chose %v instead of %s", used, compression)
		}
		records = bytes.Clone(compressed)
	}
	now := time.Now().UnixMilli()
	whole := kmsg.RecordBatch{
		Length:               int32(batchOverhead + len(records)),
		PartitionLeaderEpoch: -1,
		Magic:                2,
		Attributes:           attributes,
		LastOffsetDelta:      int32(count - 1),
		FirstTimestamp:       now,
		MaxTimestamp:         now,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           int32(count),
		Records:              records,
	}
	whole.CRC = int32(crc32.Checksum(whole.AppendTo(nil)[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return whole.AppendTo(nil), nil
}

func codecOf(name string) (kgo.Compressor, int16, error) {
	switch name {
	case "none":
		return nil, 0, nil
	case "lz4":
		codec, err := kgo.DefaultCompressor(kgo.Lz4Compression())
		return codec, 3, err
	case "zstd":
		codec, err := kgo.DefaultCompressor(kgo.ZstdCompression())
		return codec, 4, err
	}
	return nil, 0, fmt.Errorf("compression %q is none, lz4 or zstd", name)
}

// produceFrame is a Produce request with one batch for one partition.
func produceFrame(topic string, partition int, acks int16, records []byte) []byte {
	request := kmsg.NewPtrProduceRequest()
	request.SetVersion(produceVersion)
	request.Acks = acks
	request.TimeoutMillis = 60_000
	to := kmsg.NewProduceRequestTopic()
	to.Topic = topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition = int32(partition)
	part.Records = records
	to.Partitions = append(to.Partitions, part)
	request.Topics = append(request.Topics, to)
	return frame(request)
}
