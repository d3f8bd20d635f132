package main

import (
	"math/bits"
	"time"
)

const (
	subBits    = 7
	subBuckets = 1 << subBits
)

// Histogram counts durations in microseconds in buckets whose width is under one percent of their value, so that a
// million latencies take some kilobytes and no sorting. It is not for several goroutines: each has its own, and they
// are added up.
type Histogram struct {
	counts [64 * subBuckets]int64
	total  int64
}

func bucketOf(microseconds int64) int {
	if microseconds < subBuckets {
		return int(max(microseconds, 0))
	}
	shift := bits.Len64(uint64(microseconds)) - subBits - 1
	return (shift+1)<<subBits + int(microseconds>>shift) - subBuckets
}

func valueOf(bucket int) int64 {
	if bucket < subBuckets {
		return int64(bucket)
	}
	shift := bucket>>subBits - 1
	return int64(bucket&(subBuckets-1)+subBuckets)<<shift + int64(1)<<shift/2
}

// Observe counts n values of one duration.
func (h *Histogram) Observe(taken time.Duration, n int64) {
	h.counts[bucketOf(taken.Microseconds())] += n
	h.total += n
}

// Add takes over another's counts.
func (h *Histogram) Add(other *Histogram) {
	for bucket, count := range other.counts {
		h.counts[bucket] += count
	}
	h.total += other.total
}

// Milliseconds is the value that the given fraction of all do not exceed.
func (h *Histogram) Milliseconds(fraction float64) float64 {
	wanted := int64(fraction * float64(h.total))
	var seen int64
	for bucket, count := range h.counts {
		if seen += count; seen > wanted || (seen == h.total && seen > 0) {
			return float64(valueOf(bucket)) / 1000
		}
	}
	return 0
}

// Report adds the usual percentiles to figures, each name with a prefix.
func (h *Histogram) Report(figures Figures, prefix string) {
	figures[prefix+"p50_ms"] = h.Milliseconds(0.5)
	figures[prefix+"p99_ms"] = h.Milliseconds(0.99)
	figures[prefix+"p999_ms"] = h.Milliseconds(0.999)
}
