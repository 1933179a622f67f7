package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/audit"
	"github.com/slotmq/go-rmq/server/tokens"
)

// admit finds out who asks. Where tokens are needed, it sends browsers without one to the page that asks for it.
func (v *visit) admit() error {
	v.who = tokens.Anyone.Name
	if v.cfg.Who != nil {
		if v.who = v.cfg.Who(v.r); v.who == "" {
			return problem.Forbidden("It is not known who you are: open this page by the address at which people sign in.")
		}
	}
	if v.cfg.Tokens != nil && (v.name == "signin" || v.name == "signout") {
		return nil
	}
	v.findHolder()
	switch {
	case v.holder == nil && v.name == "live":
		return problem.New(http.StatusUnauthorized, "Sign in first.")
	case v.holder == nil:
		v.answered = true
		q := url.Values{}
		if v.r.Method != http.MethodPost && v.name != "" {
			q.Set("to", v.name+"?"+v.r.URL.RawQuery)
		}
		return v.goTo("signin", q)
	case v.cfg.Who == nil: // else, without tokens, anyone
		v.who = v.holder.Name
	}
	return v.mayLook(v.param("topic"))
}

// mayStill reports whether a person who asked some time ago may still look: the tokens may have been read
// again since.
func (v *visit) mayStill() bool {
	v.findHolder()
	return v.mayLook(v.param("topic")) == nil
}

// findHolder finds out whose token a request has, where tokens are needed.
func (v *visit) findHolder() {
	if v.cfg.Tokens == nil {
		return
	}
	if v.holder = nil; v.sessions.Token(v.r) != "" {
		v.holder = v.cfg.Tokens.Find(v.sessions.Token(v.r))
	}
}

// signIn is what the page of that name shows.
type signIn struct {
	To    string
	Wrong bool
}

func showSignIn(v *visit) (any, error) {
	if v.cfg.Tokens == nil {
		return nil, problem.Missing("No sign-in is needed here.")
	}
	return signIn{To: v.param("to"), Wrong: v.param("wrong") != ""}, nil
}

func doSignIn(v *visit) error {
	if v.cfg.Tokens == nil {
		return problem.Missing("No sign-in is needed here.")
	}
	to, token := v.param("to"), v.field("token")
	page, query, _ := strings.Cut(to, "?")
	if v.pages[page] == nil { // it leads elsewhere
		page, query = "", ""
	}
	holder := v.cfg.Tokens.Find(token)
	if holder == nil {
		v.note(audit.Action{What: "sign in"}, errors.New("there is no such token"))
		return v.goTo("signin", url.Values{"to": {to}, "wrong": {"1"}})
	}
	v.note(audit.Action{By: holder.Name, What: "sign in"}, nil)
	v.sessions.Begin(v.w, v.r, token)
	q, err := url.ParseQuery(query)
	if err != nil {
		q = nil
	}
	return v.goTo(page, q)
}

func signOut(v *visit) error {
	if v.findHolder(); v.cfg.Tokens != nil && v.holder != nil {
		v.note(audit.Action{By: v.holder.Name, What: "sign out"}, nil)
	}
	v.sessions.End(v.w, v.r)
	return v.goTo("signin", nil)
}

// asker is who asks, and what they may do.
type asker struct {
	who    string
	holder *tokens.Holder // nil: no one who is known
	mayDo  bool           // the console changes things, for who has the right
}

// looksAt reports whether the asker may look at a topic; without a name, at any.
func (a *asker) looksAt(topic string) bool { return a.has(tokens.Look, topic) }

// looksAtAll reports whether the asker may look at all topics, whatever their names.
func (a *asker) looksAtAll() bool { return a.looksAt("") && slices.Contains(a.holder.Topics, "*") }

// acts reports whether the asker may change something at a topic; without a name, at any.
func (a *asker) acts(topic string) bool { return a.mayDo && a.has(tokens.Act, topic) }

func (a *asker) has(r tokens.Right, topic string) bool {
	return a.holder != nil && (topic == "" && a.holder.Has(r) || topic != "" && a.holder.May(r, topic))
}

// mayLook is an error if the asker may not look at a topic.
func (a *asker) mayLook(topic string) error {
	switch {
	case a.looksAt(topic):
		return nil
	case topic == "":
		return problem.Forbidden("Your token lacks the right \"look\".")
	}
	return problem.Forbidden("Your token lacks the right \"look\" at this topic.")
}

// mayAct is an error if the asker may not change a topic.
func (a *asker) mayAct(topic string) error {
	switch {
	case !a.mayDo:
		return problem.Forbidden("This console only looks. To allow changes, start it with --act, or set Config.Act.")
	case !a.acts(topic):
		return problem.Forbidden("Your token lacks the right \"act\" at this topic.")
	}
	return nil
}
