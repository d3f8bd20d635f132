package main

import (
	"testing"
	"time"
)

func TestBucketsAreNarrow(t *testing.T) {
	for _, microseconds := range []int64{0, 1, 127, 128, 129, 255, 256, 1000, 123456, 99999999} {
		found := valueOf(bucketOf(microseconds))
		if difference := max(found-microseconds, microseconds-found); difference*100 > microseconds {
			t.Errorf("%d us is counted as %d us", microseconds, found)
		}
	}
}

func TestPercentiles(t *testing.T) {
	var h Histogram
	for number := 1; number <= 1000; number++ {
		h.Observe(time.Duration(number)*time.Millisecond, 1)
	}
	for fraction, wanted := range map[float64]float64{0.5: 500, 0.99: 990, 0.999: 1000} {
		if found := h.Milliseconds(fraction); found < wanted*0.985 || found > wanted*1.015 {
			t.Errorf("percentile %g is %g ms and not %g", fraction, found, wanted)
		}
	}
}
