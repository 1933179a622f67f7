package gateway

import (
	_ "embed"
	"net/http"
)

// openapi describes all that may be asked, and the answers. The tests hold every request and answer against it.
//
//go:embed openapi.json
var openapi []byte

func (c *call) document() error {
	c.begun = true
	c.w.Header().Set("Content-Type", jsonType)
	c.w.WriteHeader(http.StatusOK)
	_, err := c.w.Write(openapi)
	return err
}
