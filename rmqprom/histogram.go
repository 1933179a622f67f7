package rmqprom

import "github.com/prometheus/client_golang/prometheus"

// histogram counts values in buckets. It is guarded by what it is a part of: many values
// come under one lock.
type histogram struct {
	counts []uint64 // of each bucket alone; the last is for what is above all bounds
	sum    float64
}

// add counts a value n times. Small values are the usual ones.
func (h *histogram) add(bounds []float64, value float64, n uint64) {
	if h.counts == nil {
		h.counts = make([]uint64, len(bounds)+1)
	}
	i := 0
	for i < len(bounds) && value > bounds[i] {
		i++
	}
	h.counts[i] += n
	h.sum += value * float64(n)
}

// count is how many values there were.
func (h *histogram) count() (all uint64) {
	for _, n := range h.counts {
		all += n
	}
	return all
}

// metric is what Prometheus is given.
func (h *histogram) metric(d *prometheus.Desc, bounds []float64, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(bounds))
	var upTo uint64
	for i, bound := range bounds {
		if h.counts != nil {
			upTo += h.counts[i]
		}
		buckets[bound] = upTo
	}
	return prometheus.MustNewConstHistogram(d, h.count(), h.sum, buckets, labels...)
}

func counter(d *prometheus.Desc, value uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
