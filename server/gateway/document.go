package gateway

import (
	_ "embed"
	"net/http"

	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// openapi describes all that may be asked, and the answers. The tests hold every request and answer against it.
//
//go:embed openapi.json
var openapi []byte

func document(c *call) error {
	c.begun = true
	c.w.Header().Set("Content-Type", request.JSON)
	c.w.WriteHeader(http.StatusOK)
	_, err := c.w.Write(openapi)
	return err
}
