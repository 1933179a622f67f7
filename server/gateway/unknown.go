package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// unknown answers what no route is for: another path, or another method.
func (g *Gateway) unknown(w http.ResponseWriter, r *http.Request) {
	c := &call{Gateway: g, w: w, r: r}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := g.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		(&problem{Type: "not-found", Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no path %q; GET /openapi.json lists those that there are", shorten(r.URL.Path))}).write(c.w)
		return
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	(&problem{Type: "wrong-method", Status: http.StatusMethodNotAllowed, Detail: fmt.Sprintf("%s is not possible here; %s is", r.Method, list)}).write(c.w)
}
