package rmqprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v2"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// query is a piece of PromQL in one of the files, taken apart as far as its names go.
type query struct {
	text   string
	legend string // of Grafana: {{label}}
}

var (
	variable  = regexp.MustCompile(`\$\w+|\$\{\w+\}`)
	selector  = regexp.MustCompile(`([a-z_:][\w:]*)?\{([^}]*)\}`)
	matcher   = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping  = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	replaced  = regexp.MustCompile(`"(\w+)", "\$1", "(\w+)", "\(\.\*\)"`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
	window    = regexp.MustCompile(`\[[^\]]*\]`)
	word      = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	legendary = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`)
)

// functions and words of PromQL that the files use.
var promQL = strings.Fields(`sum max min count rate increase histogram_quantile label_replace label_values min_over_time absent vector by and or on without`)

// byPrometheus are the labels that it adds by itself.
var byPrometheus = []string{"instance", "job"}

// wrong is what in a query does not exist.
func (q query) wrong(s scraped) (all []string) {
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)+" in "+q.text) }
	text := q.text
	labels := map[string]bool{} // of all metrics of the query
	for _, l := range byPrometheus {
		labels[l] = true
	}
	asked := 0
	metric := func(name string) *dto.MetricFamily {
		family, suffix := s.family(name)
		if family == nil {
			bad("no metric %s", name)
			return nil
		}
		asked++
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		if suffix == "_bucket" {
			labels["le"] = true
		}
		return family
	}
	for _, m := range selector.FindAllStringSubmatch(text, -1) {
		name, matchers := m[1], matcher.FindAllStringSubmatch(m[2], -1)
		if name == "" { // any of several
			for _, one := range strings.Split(strings.Trim(matchers[0][3], "()"), "|") {
				metric(one)
			}
			continue
		}
		family := metric(name)
		if family == nil {
			continue
		}
		for _, l := range matchers {
			if !has(family, l[1], "") {
				bad("%s has no label %s", name, l[1])
			} else if l[2] == "=" && l[1] != "topic" && !has(family, l[1], l[3]) {
				bad("no series of %s has %s=%q", name, l[1], l[3])
			}
		}
	}
	rest := window.ReplaceAllString(text, "")
	for _, r := range replaced.FindAllStringSubmatch(rest, -1) {
		if !labels[r[2]] {
			bad("nothing has the label %s, which is to be replaced", r[2])
		}
		labels[r[1]] = true
	}
	rest = selector.ReplaceAllString(rest, "")
	rest = quoted.ReplaceAllString(rest, "")
	by := grouping.FindAllStringSubmatch(rest, -1)
	rest = grouping.ReplaceAllString(rest, "")
	for _, name := range word.FindAllString(rest, -1) {
		if !slices.Contains(promQL, name) && !(name == "topic" && strings.HasPrefix(q.text, "label_values(")) {
			metric(name)
		}
	}
	for _, g := range by {
		for _, l := range word.FindAllString(g[1], -1) {
			if !labels[l] {
				bad("nothing has the label %s", l)
			}
		}
	}
	for _, l := range legendary.FindAllStringSubmatch(q.legend, -1) {
		if !labels[l[1]] {
			bad("nothing has the label %s of %q", l[1], q.legend)
		}
	}
	if asked == 0 {
		bad("no metric at all")
	}
	return all
}

// family is the metric of a name, which may be one of the three of a histogram.
func (s scraped) family(name string) (*dto.MetricFamily, string) {
	if f := s[name]; f != nil {
		if f.GetType() == dto.MetricType_HISTOGRAM {
			return nil, "" // it has no series of this name
		}
		return f, ""
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, cut := strings.CutSuffix(name, suffix); cut && s[base].GetType() == dto.MetricType_HISTOGRAM && s[base] != nil {
			return s[base], suffix
		}
	}
	return nil, ""
}

// has reports whether a series has the label; with a value, whether one has that.
func has(f *dto.MetricFamily, label, value string) bool {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label && (value == "" || l.GetValue() == value) {
				return true
			}
		}
	}
	return false
}

// dashboard returns the queries of the dashboard.
func dashboard(t testing.TB) (all []query) {
	t.Helper()
	var d struct {
		Templating struct {
			List []struct {
				Name  string
				Type  string
				Query any
			}
		}
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	text, err := os.ReadFile("dashboard.json")
	must.Do(t, err)
	must.Do(t, json.Unmarshal(text, &d))
	known := []string{"$__rate_interval", "$1", "$__all"}
	for _, v := range d.Templating.List {
		known = append(known, "$"+v.Name, "${"+v.Name+"}")
		if v.Type == "query" {
			all = append(all, query{text: v.Query.(map[string]any)["query"].(string)})
		}
	}
	for _, v := range variable.FindAllString(string(text), -1) {
		if !slices.Contains(known, v) {
			t.Errorf("the dashboard has no variable %s", v)
		}
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q has the number of another one, or is too wide", p.Title)
		}
		ids[p.ID] = true
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q has %d queries", p.Title, len(p.Targets))
		}
		for _, target := range p.Targets {
			all = append(all, query{target.Expr, target.LegendFormat})
		}
	}
	return all
}

// alerts returns the queries of the alerts, each with the labels that its texts name.
func alerts(t testing.TB) (all []query) {
	t.Helper()
	var d struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Annotations      map[string]string
			}
		}
	}
	text, err := os.ReadFile("alerts.yaml")
	must.Do(t, err)
	must.Do(t, yaml.UnmarshalStrict(text, &d))
	for _, group := range d.Groups {
		for _, rule := range group.Rules {
			all = append(all, query{rule.Expr, rule.Annotations["summary"] + rule.Annotations["action"]})
			if rule.Annotations["summary"] == "" {
				t.Errorf("%s does not say what is wrong", rule.Alert)
			}
		}
	}
	return all
}

// keda returns the queries that KEDA scales by.
func keda(t testing.TB) (all []query) {
	t.Helper()
	var d struct {
		Spec struct {
			Triggers []struct{ Metadata map[string]string }
		}
	}
	text, err := os.ReadFile("keda.yaml")
	must.Do(t, err)
	must.Do(t, yaml.Unmarshal(text, &d))
	for _, trigger := range d.Spec.Triggers {
		all = append(all, query{text: trigger.Metadata["query"]})
	}
	return all
}

// The dashboard, the alerts and the scaling ask for what there is, and the dashboard shows
// all of it.
func TestQueriesAskForWhatExists(t *testing.T) {
	t.Parallel()
	s := everything(t)
	shown := ""
	for file, queries := range map[string][]query{"dashboard.json": dashboard(t), "alerts.yaml": alerts(t), "keda.yaml": keda(t)} {
		if len(queries) < 2 {
			t.Fatalf("%s has %d queries", file, len(queries)) // a check of nothing finds nothing
		}
		for _, q := range queries {
			for _, w := range q.wrong(s) {
				t.Errorf("%s: %s", file, w)
			}
			if file == "dashboard.json" {
				shown += q.text
			}
		}
	}
	for w := range slices.Chunk(written, 3) {
		if !strings.Contains(shown, w[0]) {
			t.Errorf("the dashboard does not show %s", w[0])
		}
	}
}

// What does not exist is found.
func TestWrongQueriesAreFound(t *testing.T) {
	t.Parallel()
	s := everything(t)
	for _, bad := range []query{
		{text: `rmq_message`},
		{text: `sum(rmq_sent_total)`},
		{text: `rate(rmq_lateness_seconds[5m])`},
		{text: `rate(rmq_dead_total_bucket[5m])`},
		{text: `sum(rmq_messages{queue="orders"})`},
		{text: `sum(rmq_messages{state="died"})`},
		{text: `rmq_messages{slot=~"1.*"}`},
		{text: `sum by (slot) (rmq_messages)`},
		{text: `sum by (le) (rate(rmq_lateness_seconds_sum[5m]))`},
		{text: `sum by (topic) (messaging_client_sent_messages_total)`},
		{text: `summ(rmq_messages)`},
		{text: `vector(0)`},
		{text: `rmq_messages`, legend: `{{slot}}`},
		{text: `sum by (topic) (label_replace(messaging_client_sent_messages_total, "topic", "$1", "destination", "(.*)"))`},
		{text: `label_values({__name__=~"rmq_messages|rmq_sent_total"}, topic)`},
	} {
		if bad.wrong(s) == nil {
			t.Errorf("%s passes", bad.text)
		}
	}
	good := query{text: `histogram_quantile(0.99, sum by (le, topic, instance) (rate(rmq_lateness_seconds_bucket{topic=~"$topic"}[$__rate_interval])))`, legend: `{{topic}} p99`}
	for _, w := range good.wrong(s) {
		t.Error(w)
	}
}
