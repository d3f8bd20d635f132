// A client in Go, on stubs that protoc-gen-go and protoc-gen-go-grpc make of the proto files (see test_go.py):
// main ADDRESS send|stream|read|group|share TOPIC COUNT; what it was told goes to standard output, a line for a record.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"goclient/tidegatev1"
)

const patience = 60 * time.Second

func main() {
	channel, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	topic := os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	producer, consumer := tidegatev1.NewProduceClient(channel), tidegatev1.NewConsumeClient(channel)
	switch os.Args[2] {
	case "send":
		send(ctx, producer, topic, count)
	case "stream":
		stream(ctx, producer, topic, count)
	case "read":
		read(ctx, consumer, topic)
	case "group":
		group(ctx, consumer, topic, count)
	case "share":
		share(ctx, consumer, topic, count)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func request(topic string, number, records int) *tidegatev1.SendRequest {
	made := &tidegatev1.SendRequest{Topic: topic, Number: int64(number)}
	for each := range records {
		value := []byte(fmt.Sprintf("%d.%d", number, each))
		header := &tidegatev1.Header{Name: "from", Value: []byte("go")}
		made.Records = append(made.Records, &tidegatev1.NewRecord{Value: value, Headers: []*tidegatev1.Header{header}})
	}
	return made
}

func show(answer *tidegatev1.SendResponse) {
	for _, refused := range answer.Refused {
		log.Fatal(refused.Refusal.Message)
	}
	for place, offset := range answer.Offsets {
		fmt.Println(answer.Number, answer.Partitions[place], offset)
	}
}

// send writes all records by one call.
func send(ctx context.Context, producer tidegatev1.ProduceClient, topic string, count int) {
	answer, err := producer.Send(ctx, request(topic, 7, count))
	check(err)
	show(answer)
}

// stream writes batches of two on one stream, all of them before the first answer is read.
func stream(ctx context.Context, producer tidegatev1.ProduceClient, topic string, count int) {
	call, err := producer.SendStream(ctx)
	check(err)
	for number := range count {
		check(call.Send(request(topic, number, 2)))
	}
	check(call.CloseSend())
	for range count {
		answer, err := call.Recv()
		check(err)
		show(answer)
	}
}

// read follows a topic from its beginning to the end that it has now.
func read(ctx context.Context, consumer tidegatev1.ConsumeClient, topic string) {
	call, err := consumer.Read(ctx, &tidegatev1.ReadRequest{Topic: topic, UntilEnd: true})
	check(err)
	for {
		portion, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		check(err)
		for _, record := range portion.Records {
			fmt.Println(record.Offset, string(record.Value), string(record.Headers[0].Value))
		}
	}
}

// group joins, polls until it has so many records, commits and leaves.
func group(ctx context.Context, consumer tidegatev1.ConsumeClient, topic string, count int) {
	call, err := consumer.Group(ctx)
	check(err)
	join := &tidegatev1.GroupJoin{Group: topic, Topics: []string{topic}, AutoCommitMs: -1}
	check(call.Send(&tidegatev1.GroupRequest{Request: &tidegatev1.GroupRequest_Join{Join: join}}))
	poll := &tidegatev1.GroupRequest_Poll{Poll: &tidegatev1.Poll{WaitMs: 1000, MaxRecords: int32(count)}}
	for count > 0 {
		answer := asked(call, &tidegatev1.GroupRequest{Request: poll})
		for _, portion := range answer.GetPolled().GetPartitions() {
			for _, record := range portion.Records {
				fmt.Println(record.Offset, string(record.Value))
				count--
			}
		}
	}
	commit := &tidegatev1.GroupRequest_Commit{Commit: &tidegatev1.GroupCommit{}}
	if refusal := asked(call, &tidegatev1.GroupRequest{Request: commit}).GetCommitted().GetRefusal(); refusal != nil {
		log.Fatal(refusal.Message)
	}
	check(call.CloseSend())
	_, _ = call.Recv()
}

// asked sends a request, and waits for what answers it; that the member has joined is told meanwhile.
func asked(call tidegatev1.Consume_GroupClient, request *tidegatev1.GroupRequest) *tidegatev1.GroupResponse {
	check(call.Send(request))
	for {
		answer, err := call.Recv()
		check(err)
		if answer.GetJoined() == nil {
			return answer
		}
	}
}

// share works on so many deliveries: the first of each record fails, the second does.
func share(ctx context.Context, consumer tidegatev1.ConsumeClient, topic string, count int) {
	call, err := consumer.Share(ctx)
	check(err)
	join := &tidegatev1.ShareJoin{Group: topic, Topics: []string{topic}}
	check(call.Send(&tidegatev1.ShareRequest{Request: &tidegatev1.ShareRequest_Join{Join: join}}))
	poll := &tidegatev1.ShareRequest{Request: &tidegatev1.ShareRequest_Poll{Poll: &tidegatev1.Poll{WaitMs: 1000}}}
	check(call.Send(poll))
	for count > 0 {
		answer, err := call.Recv()
		check(err)
		if answer.GetJoined() != nil {
			fmt.Println("joined")
		}
		for _, refused := range answer.GetSettled().GetRefused() {
			log.Fatal(refused.Refusal.Message)
		}
		if lent := answer.GetLent(); lent != nil {
			for _, each := range lent.Records {
				fmt.Println(string(each.Record.Value), each.DeliveryCount)
				check(call.Send(settled(each)))
				count--
			}
			check(call.Send(poll))
		}
	}
	check(call.CloseSend())
	for err == nil {
		_, err = call.Recv()
	}
}

func settled(lent *tidegatev1.LentRecord) *tidegatev1.ShareRequest {
	settle := &tidegatev1.Settle{Receipts: []string{lent.Receipt}, Settlement: tidegatev1.Settlement_SETTLEMENT_ACK}
	if lent.DeliveryCount == 1 {
		settle.Settlement = tidegatev1.Settlement_SETTLEMENT_NACK
	}
	return &tidegatev1.ShareRequest{Request: &tidegatev1.ShareRequest_Settle{Settle: settle}}
}
