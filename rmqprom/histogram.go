package rmqprom

import "github.com/prometheus/client_golang/prometheus"

// buckets are the upper bounds of the buckets of a histogram, and how many of the units in
// which it counts are one of those that it shows: 1e9 for seconds.
type buckets struct {
	bounds []int64
	unit   float64
}

// seconds are buckets of durations.
func seconds(bounds ...float64) buckets {
	b := buckets{unit: 1e9}
	for _, bound := range bounds {
		b.bounds = append(b.bounds, int64(bound*b.unit+0.5))
	}
	return b
}

// histogram counts values in buckets. It is guarded by what it is a part of: many values
// come under one lock.
type histogram struct {
	counts []uint64 // of each bucket alone; the last is for what is above all bounds
	sum    float64
}

// add counts a value n times. Small values are the usual ones.
func (h *histogram) add(b *buckets, value int64, n uint64) {
	if h.counts == nil {
		h.counts = make([]uint64, len(b.bounds)+1)
	}
	i := 0
	for i < len(b.bounds) && value > b.bounds[i] {
		i++
	}
	h.counts[i] += n
	h.sum += float64(value) * float64(n)
}

// count is how many values there were.
func (h *histogram) count() (all uint64) {
	for _, n := range h.counts {
		all += n
	}
	return all
}

// metric is what Prometheus is given.
func (h *histogram) metric(d *prometheus.Desc, b *buckets, labels ...string) prometheus.Metric {
	upTo := make(map[float64]uint64, len(b.bounds))
	var all uint64
	for i, bound := range b.bounds {
		if h.counts != nil {
			all += h.counts[i]
		}
		upTo[float64(bound)/b.unit] = all
	}
	return prometheus.MustNewConstHistogram(d, h.count(), h.sum/b.unit, upTo, labels...)
}

func counter(d *prometheus.Desc, value uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
