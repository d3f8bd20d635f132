package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// rebalancing is a group whose members all live here; it knows who owns what.
type rebalancing struct {
	address  string
	topic    string
	protocol string
	guard    sync.Mutex
	owned    map[int32]int
	members  map[int]*kgo.Client
	shares   map[int]int
}

// rebalance times how long a group takes until its partitions are all owned and evenly: from its first member on,
// after one more has joined, and after one has left.
func rebalance(arguments []string) (Figures, error) {
	options := flag.NewFlagSet("rebalance", flag.ExitOnError)
	address := options.String("address", "127.0.0.1:9092", "host:port")
	topic := options.String("topic", "load", "")
	partitions := options.Int("partitions", 100, "the topic's")
	members := options.Int("members", 20, "")
	protocol := options.String("protocol", "classic", "classic or consumer (KIP-848)")
	_ = options.Parse(arguments)
	r := rebalancing{address: *address, topic: *topic, protocol: *protocol, owned: map[int32]int{}}
	r.members, r.shares = map[int]*kgo.Client{}, map[int]int{}
	figures := Figures{"records": float64(*partitions)}
	defer r.closeAll()
	steps := []struct {
		name    string
		members int
		change  func() error
	}{
		{"form_s", *members, func() error { return r.join(0, *members) }},
		{"join_s", *members + 1, func() error { return r.join(*members, *members+1) }},
		{"leave_s", *members, func() error { r.leave(0); return nil }},
	}
	for _, step := range steps {
		began := time.Now()
		if err := step.change(); err != nil {
			return nil, err
		}
		if err := r.settle(*partitions, step.members); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		figures[step.name] = time.Since(began).Seconds()
	}
	return figures, nil
}

func (r *rebalancing) join(from, to int) error {
	for number := from; number < to; number++ {
		settings := []kgo.Opt{
			kgo.SeedBrokers(r.address),
			kgo.ConsumerGroup("rebalance-" + r.protocol),
			kgo.ConsumeTopics(r.topic),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) {
				r.count(number, gained[r.topic], 1)
			}),
			kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
				r.count(number, lost[r.topic], -1)
			}),
			kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
				r.count(number, lost[r.topic], -1)
			}),
		}
		if r.protocol == "consumer" {
			settings = append(settings, kgo.WithContext(
				context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true),
			))
		}
		client, err := kgo.NewClient(settings...)
		if err != nil {
			return err
		}
		r.members[number] = client
		go poll(client)
	}
	return nil
}

func poll(client *kgo.Client) {
	for !client.PollFetches(context.Background()).IsClientClosed() {
	}
}

func (r *rebalancing) count(member int, partitions []int32, change int) {
	r.guard.Lock()
	defer r.guard.Unlock()
	for _, partition := range partitions {
		r.owned[partition] += change
		r.shares[member] += change
	}
}

func (r *rebalancing) leave(member int) {
	r.members[member].Close()
	delete(r.members, member)
}

func (r *rebalancing) closeAll() {
	var group sync.WaitGroup
	for _, client := range r.members {
		group.Go(client.Close)
	}
	group.Wait()
}

// settle waits until every partition has one owner and every member has its even share, rounded down or up.
func (r *rebalancing) settle(partitions, members int) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if r.isSettled(partitions, members) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d partitions among %d members are not settled after two minutes", partitions, members)
		}
	}
}

func (r *rebalancing) isSettled(partitions, members int) bool {
	r.guard.Lock()
	defer r.guard.Unlock()
	owned := 0
	for _, owners := range r.owned {
		if owners > 1 {
			return false
		}
		owned += owners
	}
	least, most := partitions/members, (partitions+members-1)/members
	for member := range r.members {
		if share := r.shares[member]; share < least || share > most {
			return false
		}
	}
	return owned == partitions
}
