package console

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// export writes the dead messages that a filter chooses, a line of JSON for each, as rmq dead export does.
func (v *visit) export() error {
	if v.cfg.HideContents {
		return &problem{http.StatusForbidden, "This console hides contents, which an export would have."}
	}
	f := v.filter()
	q, err := f.query(v.ctx, v.Console)
	if err != nil {
		return err
	}
	if _, err := v.inspector.Topic(v.ctx, f.Topic); err != nil {
		return err
	}
	if v.r.Method == http.MethodHead {
		v.exportHead()
		return nil
	}
	if err := v.enter(v.exporting); err != nil {
		return err
	}
	defer func() { <-v.exporting }()
	q.Complete = true
	out := json.NewEncoder(v.w)
	out.SetEscapeHTML(false)
	begun := false
	to := http.NewResponseController(v.w)
	n := 0
	for e, err := range v.inspector.Dead(v.r.Context(), f.Topic, q) {
		if err != nil {
			v.note(audit.Deed{What: "export", Topic: f.Topic, Count: n, Filter: f.Words()}, err)
			if !begun {
				return err
			}
			panic(http.ErrAbortHandler) // a browser must see that the file is not whole
		}
		if !begun {
			begun = true
			v.exportHead()
		}
		_ = to.SetWriteDeadline(time.Now().Add(writeWithin))
		if out.Encode(wire.DeadOf(e, false)) != nil {
			v.note(audit.Deed{What: "export", Topic: f.Topic, Count: n, Filter: f.Words(), Result: "who asked has gone"}, nil)
			return nil
		}
		n++
	}
	if !begun {
		v.exportHead()
	}
	v.note(audit.Deed{What: "export", Topic: f.Topic, Count: n, Filter: f.Words()}, nil)
	return nil
}

func (v *visit) exportHead() {
	v.w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="dead.jsonl"`)
}
