package commands

import (
	"errors"

	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

// kindNames are the kinds, as they are written.
var kindNames = func() (names []string) {
	for _, kind := range message.Kinds() {
		names = append(names, kind.String())
	}
	return names
}()

func parseKind(name string) (message.Kind, error) {
	if kind, known := message.ParseKind(name); known {
		return kind, nil
	}
	return 0, errors.New("not " + words.Alternatives(kindNames))
}
