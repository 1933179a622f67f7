package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/server/internal/audit"
	"github.com/slotmq/go-rmq/server/tokens"
)

// admit finds out who asks. Where tokens are needed, it sends browsers without one to the page that asks for it.
func (v *visit) admit() error {
	v.who = tokens.Anyone.Name
	if v.cfg.Who != nil {
		if v.who = v.cfg.Who(v.r); v.who == "" {
			return &problem{http.StatusForbidden, "It is not known who you are: open this page by the address at which people sign in."}
		}
	}
	if v.cfg.Tokens == nil {
		return v.mayLook()
	}
	if v.name == "signin" || v.name == "signout" {
		return nil
	}
	v.findHolder()
	switch {
	case v.holder == nil && v.name == "live":
		return &problem{http.StatusUnauthorized, "Sign in first."}
	case v.holder == nil:
		v.answered = true
		q := url.Values{}
		if v.r.Method != http.MethodPost && v.name != "" {
			q.Set("to", v.name+"?"+v.r.URL.RawQuery)
		}
		return v.goTo("signin", q)
	case v.cfg.Who == nil:
		v.who = v.holder.Name
	}
	return v.mayLook()
}

// findHolder finds out whose token a request has.
func (v *visit) findHolder() {
	v.holder = nil
	if token := v.sessions.Token(v.r); token != "" {
		v.holder = v.cfg.Tokens.Find(token)
	}
}

// mayStill reports whether who asked some time ago may still look: the tokens may have been read again since.
func (v *visit) mayStill() bool {
	if v.cfg.Tokens != nil {
		v.findHolder()
	}
	return v.mayLook() == nil
}

func (v *visit) mayLook() error {
	if topic := v.param("topic"); !v.looksAt(topic) {
		if topic == "" {
			return &problem{http.StatusForbidden, "Your token lacks the right \"look\"."}
		}
		return &problem{http.StatusForbidden, "Your token lacks the right \"look\" at this topic."}
	}
	return nil
}

// looksAt reports whether who asks may look at a topic, or without a name at some.
func (v *visit) looksAt(topic string) bool { return v.has(tokens.Look, topic) }

// looksAtAll reports whether who asks may look at all topics, whatever their names.
func (v *visit) looksAtAll() bool {
	return v.cfg.Tokens == nil || v.holder != nil && v.holder.Has(tokens.Look) && slices.Contains(v.holder.Topics, "*")
}

// acts reports whether who asks may change something at a topic, or without a name at some.
func (v *visit) acts(topic string) bool { return v.cfg.Act && v.has(tokens.Act, topic) }

func (v *visit) has(r tokens.Right, topic string) bool {
	switch {
	case v.cfg.Tokens == nil:
		return true
	case v.holder == nil:
		return false
	case topic == "":
		return v.holder.Has(r)
	}
	return v.holder.May(r, topic)
}

// mayAct is an error if who asks may not change a topic.
func (v *visit) mayAct(topic string) error {
	switch {
	case !v.cfg.Act:
		return &problem{http.StatusForbidden, "This console only looks. To allow changes, start it with --act, or set Config.Act."}
	case !v.acts(topic):
		return &problem{http.StatusForbidden, "Your token lacks the right \"act\" at this topic."}
	}
	return nil
}

// signIn is what the page of that name shows.
type signIn struct {
	To    string
	Wrong bool
}

func (v *visit) showSignIn() (any, error) {
	if v.cfg.Tokens == nil {
		return nil, &problem{http.StatusNotFound, "No sign-in is needed here."}
	}
	return signIn{To: v.param("to"), Wrong: v.param("wrong") != ""}, nil
}

func (v *visit) doSignIn() error {
	if v.cfg.Tokens == nil {
		return &problem{http.StatusNotFound, "No sign-in is needed here."}
	}
	to, token := v.param("to"), strings.TrimSpace(v.param("token"))
	page, query, _ := strings.Cut(to, "?")
	if v.pages[page] == nil { // it leads elsewhere
		page, query = "", ""
	}
	holder := v.cfg.Tokens.Find(token)
	if holder == nil {
		v.note(audit.Deed{What: "sign in"}, errors.New("there is no such token"))
		return v.goTo("signin", url.Values{"to": {to}, "wrong": {"1"}})
	}
	v.note(audit.Deed{By: holder.Name, What: "sign in"}, nil)
	v.sessions.Begin(v.w, v.r, token)
	q, err := url.ParseQuery(query)
	if err != nil {
		q = nil
	}
	return v.goTo(page, q)
}

func (v *visit) signOut() error {
	if v.findHolder(); v.holder != nil {
		v.note(audit.Deed{By: v.holder.Name, What: "sign out"}, nil)
	}
	v.sessions.End(v.w, v.r)
	return v.goTo("signin", nil)
}
