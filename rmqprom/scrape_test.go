package rmqprom_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// scraped is what Prometheus gets.
type scraped map[string]*dto.MetricFamily

// scrape asks for the metrics over HTTP, as Prometheus does, and reads its text.
func scrape(t testing.TB, from prometheus.Gatherer) scraped {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(from, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := http.Get(server.URL)
	must.Do(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the scrape answers %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	must.Do(t, err)
	return families
}

// series are those of a metric that have all these labels, given as "name=value".
func (s scraped) series(name string, labels ...string) (found []*dto.Metric) {
	for _, m := range s[name].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		if !slices.ContainsFunc(labels, func(l string) bool { return !has[l] }) {
			found = append(found, m)
		}
	}
	return found
}

// value adds up what series have: of a histogram, how many values it has counted.
func (s scraped) value(name string, labels ...string) (sum float64) {
	for _, m := range s.series(name, labels...) {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

// want compares values; a line is "name label=value … = number".
func (s scraped) want(t testing.TB, lines ...string) {
	t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		number := words[len(words)-1]
		name, labels := words[0], words[1:len(words)-2]
		if len(s.series(name, labels...)) == 0 {
			t.Errorf("%s %s is not there", name, labels)
		} else if got := model.SampleValue(s.value(name, labels...)).String(); got != number {
			t.Errorf("%s %s is %s, want %s", name, labels, got, number)
		}
	}
}

// forms are the metrics as "name TYPE label label …", in order.
func (s scraped) forms() []string {
	var all []string
	for name, family := range s {
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		words := slices.Concat([]string{name, family.GetType().String()}, slices.Sorted(maps.Keys(labels)))
		all = append(all, strings.Join(words, " "))
	}
	slices.Sort(all)
	return all
}
