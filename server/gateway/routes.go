package gateway

import "github.com/slotmq/go-rmq/server/tokens"

// route is one of the things that may be asked. openapi.json has each of them.
type route struct {
	pattern string
	right   tokens.Right // that who asks must have, at the topic in the path if there is one; "": none
	serve   func(c *call) error
}

func (g *Gateway) routes() []route {
	all := []route{
		{"POST /v1/take", tokens.Take, (*call).take},
		{"POST /v1/finish", tokens.Take, (*call).finish},
		{"POST /v1/fail", tokens.Take, (*call).failBatch},
		{"POST /v1/extend", tokens.Take, (*call).extend},

		{"GET /openapi.json", "", (*call).document},
	}
	return all
}
