package rmqproto_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/slotmq/go-rmq/rmqproto"
)

// Equal messages have equal contents, in whatever order their maps were filled, and a
// content gives the message back.
func TestEqualMessagesHaveEqualContents(t *testing.T) {
	t.Parallel()
	codec := rmqproto.Codec[*structpb.Struct]()
	filled := func(from, to, step int) *structpb.Struct {
		m := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for i := from; i != to; i += step {
			m.Fields[fmt.Sprint("field ", i)] = structpb.NewNumberValue(float64(i))
		}
		return m
	}
	first, err := codec.Encode(filled(0, 100, 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := codec.Encode(filled(99, -1, -1)); err != nil || again != first {
			t.Fatalf("the content is another one (%v)", err)
		}
	}
	back, err := codec.Decode(first)
	if err != nil || !proto.Equal(back, filled(0, 100, 1)) {
		t.Errorf("it came back as %v (%v)", back, err)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	if m, err := rmqproto.Codec[*timestamppb.Timestamp]().Decode("\xff\xff"); err == nil {
		t.Errorf("it is read as %v", m)
	}
}
