// Package rmqproto sends protobuf messages by package typed. It is a module of its own, so
// that only programs which use protobuf get its library.
package rmqproto

import (
	"google.golang.org/protobuf/proto"

	"github.com/slotmq/go-rmq/internal/version"
	"github.com/slotmq/go-rmq/typed"
)

const _ = version.EveryModuleMustBe_v0_1_0

// Codec is a codec for messages of one protobuf type, such as *pb.Order.
//
// Equal messages of one program have equal contents, and merge. Protobuf does not promise
// that for programs that were built with different versions of its library or of the
// message, or in other languages: while you deploy such a change, equal messages of the old
// and the new program may be handled twice. If that matters, use [typed.Ref].
//
// A message without any field set has no content, and is refused when you send it.
func Codec[T proto.Message]() typed.Codec[T] { return codec[T]{} }

type codec[T proto.Message] struct{}

func (codec[T]) Encode(m T) (string, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return string(content), err
}

func (codec[T]) Decode(content string) (m T, err error) {
	m = m.ProtoReflect().New().Interface().(T)
	return m, proto.Unmarshal([]byte(content), m)
}
