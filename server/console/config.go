package console

import (
	"net/http"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/server/tokens"
	"github.com/slotmq/go-rmq/slots"
)

// Config of a Console. The zero value of a field means its default.
type Config struct {
	// Redis is the client to use; it stays yours to close. Required.
	Redis redis.UniversalClient

	// Namespace in front of the topics' names. Defaults to none.
	Namespace string

	// Journal is where the history of messages is, and gets what people change. Defaults to none.
	Journal *journal.Journal

	// Slots is that of the workers if they share topics by ZooKeeper, to see them. Defaults to none.
	Slots slots.Sharing

	// Act lets people change something: requeue and delete dead messages, cancel, reschedule, pause, limit. With Tokens
	// they need the right to act, too. Defaults to false: pages only show.
	Act bool

	// HideContents shows no contents of messages and no values of their headers, only their lengths, and a code for
	// each, to recognise it by. The errors of handlers are shown all the same. Defaults to false.
	HideContents bool

	// Tokens say who may look and who may act: people sign in with one. Defaults to none: all who reach the console
	// may do what it can.
	Tokens *tokens.File

	// Who returns a person's name, for the page and the log, such as what your proxy puts into a header. People
	// without a name are refused. Defaults to the name of the token, and without Tokens to "anyone".
	Who func(*http.Request) string

	// Title is shown on each page, such as production. Defaults to none.
	Title string

	// Logger gets a line for each change that people make. Defaults to none.
	Logger *zap.Logger
}
