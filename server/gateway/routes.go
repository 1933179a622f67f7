package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
	"github.com/slotmq/go-rmq/server/tokens"
)

// route is one of the things that may be asked. openapi.json has each of them.
type route struct {
	pattern string
	right   tokens.Right // that who asks must have, at the topic in the path if there is one; "": none
	params  []string     // that may stand behind the ?; nil: they are not looked at here
	serve   func(c *call) error
}

// changes reports whether the route is one that changes something. Some of sdmq do so by GET.
func (r route) changes() bool { return r.right != "" && r.right != tokens.Look }

func (g *Gateway) routes() []route {
	const topic = "/v1/topics/{topic}"
	all := []route{
		{"POST " + topic + "/messages", tokens.Send, nil, g.sends.send},
		{"GET " + topic + "/messages", tokens.Look, request.Named, explain},
		{"DELETE " + topic + "/messages", tokens.Send, request.Named, cancel},
		{"PATCH " + topic + "/messages", tokens.Send, request.Named, reschedule},
		{"PUT " + topic, tokens.Send, nil, reading(g.sends.defined.define)},

		{"POST /v1/take", tokens.Take, nil, reading(g.takes.take)},
		{"POST /v1/finish", tokens.Take, nil, reading(g.takes.finish)},
		{"POST /v1/fail", tokens.Take, nil, g.takes.fail},
		{"POST /v1/extend", tokens.Take, nil, reading(g.takes.extend)},

		{"GET /v1/topics", tokens.Look, request.Page, listTopics},
		{"GET " + topic, tokens.Look, request.None, showTopic},
		{"GET " + topic + "/slots", tokens.Look, request.Page, showSlots},
		{"GET /v1/workers", tokens.Look, request.Page, listWorkers},
		{"GET /v1/doctor", tokens.Look, request.None, askDoctor},
		{"GET " + topic + "/dead", tokens.Look, request.Filtered, listDead},
		{"GET " + topic + "/recurring", tokens.Look, request.Page, listRecurring},

		{"POST " + topic + "/dead/requeue", tokens.Act, request.None, reading(requeueDead)},
		{"POST " + topic + "/dead/delete", tokens.Act, request.None, reading(deleteDead)},
		{"POST " + topic + "/pause", tokens.Act, request.None, pause},
		{"POST " + topic + "/resume", tokens.Act, request.None, resume},
		{"PUT " + topic + "/limit", tokens.Act, request.None, reading(setLimit)},
		{"DELETE " + topic + "/limit", tokens.Act, request.None, endLimit},
		{"PUT " + topic + "/recurring/{name}", tokens.Act, request.None, reading(setRecurring)},
		{"DELETE " + topic + "/recurring/{name}", tokens.Act, request.None, stopRecurring},
		{"POST /v1/restore", tokens.Act, request.None, reading(restore)},

		{"GET /livez", "", nil, livez},
		{"GET /readyz", "", nil, readyz},
		{"GET /metrics", tokens.Look, request.None, showMetrics},
		{"GET /openapi.json", "", nil, document},
	}
	if g.cfg.SDMQ {
		all = append(all, sdmq{g.takes, g.sends.producer}.routes()...)
	}
	return all
}

// unknown answers what no route is for: another path, or another method.
func (g *Gateway) unknown(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := g.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		problem.New("not-found", "there is no path %q; GET /openapi.json lists those that there are", problem.Shorten(r.URL.Path)).Write(w)
		return
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	problem.New("wrong-method", "%s is not possible here; %s is", r.Method, list).Write(w)
}
