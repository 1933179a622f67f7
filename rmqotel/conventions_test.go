package rmqotel

import (
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// conventions are the lists of testdata/conventions.txt: "span send PRODUCER" or "metric
// messaging.process.duration histogram s" -> attribute -> level.
func conventions(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/conventions.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	var one map[string]string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "span" || words[0] == "metric":
			one = map[string]string{}
			all[strings.Join(words, " ")] = one
		case len(words) == 2:
			one[words[1]] = words[0]
		default:
			t.Fatalf("line %q", line)
		}
	}
	return all
}

// Each name in the list is in the pinned version of the conventions.
func TestListIsOfThePinnedVersion(t *testing.T) {
	t.Parallel()
	if schemaURL != "https://opentelemetry.io/schemas/1.43.0" {
		t.Errorf("the schema is %s: write the list down again", schemaURL)
	}
	registry := map[string]bool{}
	for _, key := range []attribute.Key{
		semconv.MessagingSystemKey, semconv.MessagingOperationNameKey, semconv.MessagingOperationTypeKey, semconv.MessagingDestinationNameKey,
		semconv.MessagingDestinationTemplateKey, semconv.MessagingDestinationPartitionIDKey, semconv.MessagingDestinationSubscriptionNameKey,
		semconv.MessagingConsumerGroupNameKey, semconv.MessagingMessageIDKey, semconv.MessagingMessageConversationIDKey, semconv.MessagingMessageBodySizeKey,
		semconv.MessagingMessageEnvelopeSizeKey, semconv.MessagingClientIDKey, semconv.MessagingBatchMessageCountKey,
		semconv.ErrorTypeKey, semconv.ServerAddressKey, semconv.ServerPortKey, semconv.NetworkPeerAddressKey, semconv.NetworkPeerPortKey,
	} {
		registry[string(key)] = true
	}
	lists := conventions(t)
	if len(lists) != 8 {
		t.Fatalf("%d lists", len(lists))
	}
	for of, list := range lists {
		for name := range list {
			if !registry[name] {
				t.Errorf("%s: %s", of, name)
			}
		}
	}
}

// hold holds the attributes of a span or a metric against its list.
func hold(t *testing.T, lists map[string]map[string]string, of string, set attribute.Set, failed, batch bool) {
	t.Helper()
	list := lists[of]
	if list == nil {
		t.Errorf("the conventions have no %s", of)
	}
	for _, kv := range set.ToSlice() {
		name := string(kv.Key)
		if own := strings.HasPrefix(of, "span ") && strings.HasPrefix(name, "messaging.rmq."); !own && list[name] == "" {
			t.Errorf("%s has %s, which the conventions do not give it", of, name)
		}
		if kv.Value.Type() == attribute.STRING && kv.Value.AsString() == "" {
			t.Errorf("%s has an empty %s", of, name)
		}
	}
	for name, level := range list {
		want := level == "required" || level == "known" || level == "failed" && failed || level == "batch" && batch
		never := level == "failed" && !failed || level == "batch" && !batch
		if has := set.HasValue(attribute.Key(name)); want && !has || never && has {
			t.Errorf("%s has %s: %v (%s)", of, name, has, level)
		}
	}
}

// holdSpan holds a span against its list, and its name and schema against the rules.
func holdSpan(t *testing.T, lists map[string]map[string]string, s sdktrace.ReadOnlySpan) attribute.Set {
	t.Helper()
	set := attribute.NewSet(s.Attributes()...)
	operation, _ := set.Value(semconv.MessagingOperationNameKey)
	dest, _ := set.Value(semconv.MessagingDestinationNameKey)
	if want := operation.AsString() + " " + dest.AsString(); s.Name() != want {
		t.Errorf("the span is called %q, not %q", s.Name(), want)
	}
	if set.Len() != len(s.Attributes()) {
		t.Errorf("%s sets an attribute twice: %v", s.Name(), s.Attributes())
	}
	if got := s.InstrumentationScope(); got.Name != "github.com/slotmq/go-rmq/rmqotel" || got.SchemaURL != "https://opentelemetry.io/schemas/1.43.0" {
		t.Errorf("%s is of scope %+v", s.Name(), got)
	}
	of := "span " + operation.AsString() + " " + strings.ToUpper(s.SpanKind().String())
	hold(t, lists, of, set, s.Status().Code == codes.Error, set.HasValue(semconv.MessagingBatchMessageCountKey))
	return set
}
