package rmqprom_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
)

// written are all metrics with their type and labels. The first four were copied from the
// semantic conventions of OpenTelemetry v1.43.0 (docs/messaging/messaging-metrics.md), as the
// Prometheus exporter of the OpenTelemetry Collector writes them: dots become _, the unit is
// put behind, then _total behind counters, and units such as {message} are left out. The
// others follow the same rules. A change of one breaks dashboards and alerts.
var written = strings.Fields(`
	messaging_client_consumed_messages_total COUNTER error_type,messaging_destination_name,messaging_operation_name,messaging_system
	messaging_client_operation_duration_seconds HISTOGRAM error_type,messaging_destination_name,messaging_operation_name,messaging_operation_type,messaging_system
	messaging_client_sent_messages_total COUNTER error_type,messaging_destination_name,messaging_operation_name,messaging_system
	messaging_process_duration_seconds HISTOGRAM error_type,messaging_destination_name,messaging_operation_name,messaging_system
	rmq_batch_size HISTOGRAM topic
	rmq_dead_total COUNTER topic
	rmq_dropped_total COUNTER topic
	rmq_duplicates_total COUNTER topic
	rmq_expired_total COUNTER topic
	rmq_failed_total COUNTER topic
	rmq_handed_back_total COUNTER topic
	rmq_handlers_allowed GAUGE topic
	rmq_handlers_running GAUGE -
	rmq_lateness_seconds HISTOGRAM topic
	rmq_merged_total COUNTER topic
	rmq_messages GAUGE state,topic
	rmq_messages_due GAUGE topic
	rmq_overdue_seconds GAUGE topic
	rmq_probing GAUGE topic
	rmq_slot_moves_total COUNTER direction,topic
	rmq_slots_paused GAUGE topic
	rmq_slots_unread GAUGE topic
	rmq_snoozed_total COUNTER topic
	rmq_state_age_seconds GAUGE -
	rmq_state_errors_total COUNTER -
	rmq_taken_over_total COUNTER topic
	rmq_workers GAUGE topic
`)

// conventional are the upper bounds that the conventions ask for.
var conventional = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// everything is a scrape of a process that sends and handles, and looks at Redis, on a live
// server.
func everything(t testing.TB) scraped {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := rmqprom.New(rmqprom.Config{Registerer: registry})
	must.Do(t, err)
	rdb := servertest.Redis(t).Client(t)
	_, err = rmqprom.NewState(rmqprom.StateConfig{Redis: rdb, Registerer: registry, Timeout: await.Patience})
	must.Do(t, err)
	client := newClient(t, rmq.Config{Redis: rdb, Observers: []rmq.Observer{metrics}, Middleware: []rmq.Middleware{metrics.Middleware}})
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime, Slots: 4}
	failed := make(chan struct{})
	must.Do(t, client.Listen(mails, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
		defer close(failed)
		return rmq.Dead(errors.New("no such address"))
	}), rmq.ListenOptions{Due: true}))
	must.Do(t, client.Start(ctx))
	_, err = client.Send(ctx, mails, rmq.FixedTime{Content: "mail 12", At: time.Now()})
	must.Do(t, err)
	<-failed
	var s scraped
	await.True(t, "what happened is seen", func() bool {
		s = scrape(t, registry)
		return s.value("rmq_dead_total") == 1 && s.value("rmq_slot_moves_total") > 0
	})
	return s
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := everything(t)
	var want []string
	for w := range slices.Chunk(written, 3) {
		labels := strings.ReplaceAll(strings.TrimPrefix(w[2], "-"), ",", " ")
		want = append(want, strings.TrimSpace(w[0]+" "+w[1]+" "+labels))
	}
	got := slices.DeleteFunc(s.forms(), func(f string) bool { return strings.HasPrefix(f, "promhttp_") })
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("%s is not written down", f)
		}
	}
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("%s is not there", f)
		}
	}
	for _, name := range []string{"messaging_client_operation_duration_seconds", "messaging_process_duration_seconds"} {
		for _, series := range s.series(name) {
			var bounds []float64
			for _, b := range series.GetHistogram().GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
			}
			if !slices.Equal(bounds[:len(conventional)], conventional) {
				t.Errorf("%s has buckets up to %v", name, bounds)
			}
		}
	}
	for label, value := range map[string]string{"messaging_system": "rmq", "messaging_destination_name": "mails"} {
		if len(s.series("messaging_client_sent_messages_total", label+"="+value)) == 0 {
			t.Errorf("%s is not %s", label, value)
		}
	}
	if first := s.series("rmq_lateness_seconds")[0].GetHistogram().GetBucket()[0].GetUpperBound(); first != 0.0005 {
		t.Errorf("lateness is measured from %v s on", first)
	}
}
