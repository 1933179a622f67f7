package gateway

import "github.com/slotmq/go-rmq/server/tokens"

// route is one of the things that may be asked. openapi.json has each of them.
type route struct {
	pattern string
	right   tokens.Right // that who asks must have, at the topic in the path if there is one; "": none
	serve   func(c *call) error
}

// changes reports whether the route is one that changes something. Some of sdmq do so by GET.
func (r route) changes() bool { return r.right != "" && r.right != tokens.Look }

func (g *Gateway) routes() []route {
	all := []route{
		{"POST /v1/topics/{topic}/messages", tokens.Send, (*call).send},
		{"GET /v1/topics/{topic}/messages", tokens.Look, (*call).explain},
		{"DELETE /v1/topics/{topic}/messages", tokens.Send, (*call).cancel},
		{"PATCH /v1/topics/{topic}/messages", tokens.Send, (*call).reschedule},
		{"PUT /v1/topics/{topic}", tokens.Send, (*call).define},

		{"POST /v1/take", tokens.Take, (*call).take},
		{"POST /v1/finish", tokens.Take, (*call).finish},
		{"POST /v1/fail", tokens.Take, (*call).failBatch},
		{"POST /v1/extend", tokens.Take, (*call).extend},

		{"GET /v1/topics", tokens.Look, (*call).topics},
		{"GET /v1/topics/{topic}", tokens.Look, (*call).topic},
		{"GET /v1/topics/{topic}/slots", tokens.Look, (*call).slots},
		{"GET /v1/workers", tokens.Look, (*call).workers},
		{"GET /v1/doctor", tokens.Look, (*call).doctor},
		{"GET /v1/topics/{topic}/dead", tokens.Look, (*call).listDead},
		{"GET /v1/topics/{topic}/recurring", tokens.Look, (*call).recurring},

		{"POST /v1/topics/{topic}/dead/requeue", tokens.Act, (*call).requeueDead},
		{"POST /v1/topics/{topic}/dead/delete", tokens.Act, (*call).deleteDead},
		{"POST /v1/topics/{topic}/pause", tokens.Act, (*call).pause},
		{"POST /v1/topics/{topic}/resume", tokens.Act, (*call).resume},
		{"PUT /v1/topics/{topic}/limit", tokens.Act, (*call).limit},
		{"DELETE /v1/topics/{topic}/limit", tokens.Act, (*call).unlimit},
		{"PUT /v1/topics/{topic}/recurring/{name}", tokens.Act, (*call).setRecurring},
		{"DELETE /v1/topics/{topic}/recurring/{name}", tokens.Act, (*call).stopRecurring},
		{"POST /v1/restore", tokens.Act, (*call).restore},

		{"GET /livez", "", (*call).livez},
		{"GET /readyz", "", (*call).readyz},
		{"GET /metrics", tokens.Look, (*call).showMetrics},
		{"GET /openapi.json", "", (*call).document},
	}
	if g.cfg.SDMQ {
		all = append(all, sdmqRoutes()...)
	}
	return all
}
