package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// contract holds requests and answers against openapi.json.
type contract struct {
	document *openapi3.T
	router   routers.Router
}

func newContract(t testing.TB) *contract {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(openapi)
	must.Do(t, err)
	must.Do(t, document.Validate(context.Background()))
	router, err := gorillamux.NewRouter(document)
	must.Do(t, err)
	return &contract{document, router}
}

// check compares a call with the document. A request that is wrong on purpose is not compared, its answer is.
func (c *contract) check(t testing.TB, r *http.Request, body []byte, wrong bool, res *http.Response, answer []byte) {
	t.Helper()
	asked := r.Clone(context.Background())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	route, params, err := c.router.FindRoute(asked)
	if err != nil {
		if !wrong {
			t.Errorf("%s %s stands not in openapi.json: %v", r.Method, r.URL, err)
		}
		return
	}
	sends, answers := strings.HasPrefix(r.Header.Get("Content-Type"), request.Stream), strings.HasPrefix(res.Header.Get("Content-Type"), request.Stream)
	in := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, ExcludeRequestBody: sends, ExcludeResponseBody: answers,
	}}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil && !wrong {
		t.Errorf("%s %s %s: the request is not as in openapi.json: %v", r.Method, r.URL, body, err)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options}
	out.SetBodyBytes(answer)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s %s: the answer %d %s is not as in openapi.json: %v", r.Method, r.URL, res.StatusCode, answer, err)
	}
	if !answers {
		return
	}
	content := route.Operation.Responses.Status(res.StatusCode).Value.Content
	if content[request.Stream] == nil {
		t.Errorf("%s %s answers lines, of which there is nothing in openapi.json", r.Method, r.URL)
		return
	}
	for line := range bytes.Lines(answer) {
		checkLine(t, lineOf(content), line)
	}
}

// lineOf is the schema of each line of a stream.
func lineOf(c openapi3.Content) *openapi3.Schema { return c[request.Stream].Schema.Value }

// checkLine compares a line with its schema.
func checkLine(t testing.TB, schema *openapi3.Schema, line []byte) {
	t.Helper()
	var v any
	must.Do(t, json.Unmarshal(line, &v))
	if err := schema.VisitJSON(v); err != nil {
		t.Errorf("%s is not as in openapi.json: %v", line, err)
	}
}

// messageLine is what a line that is sent is like, and answerLine what one is like that is answered.
func (c *contract) messageLine() *openapi3.Schema {
	return lineOf(c.sending().RequestBody.Value.Content)
}
func (c *contract) answerLine() *openapi3.Schema {
	return lineOf(c.sending().Responses.Status(http.StatusOK).Value.Content)
}

func (c *contract) sending() *openapi3.Operation {
	return c.document.Paths.Value("/v1/topics/{topic}/messages").Post
}

// Beside a $ref, OpenAPI 3.0 ignores whatever stands there.
func TestDocumentHasNothingBesideReferences(t *testing.T) {
	t.Parallel()
	var document any
	must.Do(t, json.Unmarshal(openapi, &document))
	var look func(at string, v any)
	look = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["$ref"] != nil && len(v) > 1 {
				t.Errorf("%s has more than its $ref: %v", at, v)
			}
			for name, below := range v {
				look(at+"/"+name, below)
			}
		case []any:
			for n, below := range v {
				look(fmt.Sprint(at, "/", n), below)
			}
		}
	}
	look("", document)
}

// What may be asked stands in the document, and nothing else does.
func TestDocumentHasEachRoute(t *testing.T) {
	t.Parallel()
	var served, written []string
	for _, r := range (&Gateway{cfg: Config{SDMQ: true}, sends: &sends{}}).routes() {
		served = append(served, r.pattern)
	}
	for path, item := range newContract(t).document.Paths.Map() {
		for method := range item.Operations() {
			written = append(written, method+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(written)
	if !slices.Equal(served, written) {
		t.Errorf("served:\n%s\nin openapi.json:\n%s", strings.Join(served, "\n"), strings.Join(written, "\n"))
	}
}
