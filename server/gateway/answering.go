package gateway

import (
	"net/http"
	"time"
)

// How long others may take, where the Gateway does not say otherwise.
const (
	bodyWithin = 30 * time.Second // for a body to arrive
	readWithin = time.Minute      // for an answer to be read, or a part of it
)

// answering is an answer. It notes the status, and bounds how long a client can hold a connection, be it by a body that
// does not come or by an answer that is not read.
type answering struct {
	http.ResponseWriter
	conn   *http.ResponseController
	within time.Duration // for what is written to be read
	status int
}

// answering begins with a request.
func (g *Gateway) answering(w http.ResponseWriter, r *http.Request) *answering {
	a := &answering{ResponseWriter: w, conn: http.NewResponseController(w), within: g.readWithin}
	_ = a.conn.SetWriteDeadline(time.Time{}) // that of the answer before, on the same connection; where it can be set
	if r.ContentLength != 0 {                // net/http reads the rest of a body before it answers
		_ = a.conn.SetReadDeadline(time.Now().Add(g.bodyWithin))
	}
	return a
}

func (a *answering) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.bound()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answering) Write(text []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.bound()
	return a.ResponseWriter.Write(text)
}

// bound bounds what is written now, and what is left of it when the request ends.
func (a *answering) bound() { _ = a.conn.SetWriteDeadline(time.Now().Add(a.within)) }

// FlushError is for http.ResponseController. After it there is no deadline: the next part may come much later, and
// with HTTP/2 a deadline ends an answer even while nothing is written.
func (a *answering) FlushError() error {
	err := a.conn.Flush()
	_ = a.conn.SetWriteDeadline(time.Time{})
	return err
}

// Unwrap is for http.ResponseController.
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
