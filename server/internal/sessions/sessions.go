// Package sessions knows the browsers of those who have signed in with a token.
package sessions

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// Lasts is how long a session lasts.
const Lasts = 12 * time.Hour

// most there are at a time. One more ends the oldest.
const most = 10_000

// cookieName is the cookie with the name of a session. It does not hold the token, so it is worth nothing once the
// session has ended. It sets no path: browsers send it to the folder that set it, wherever that is mounted.
const cookieName = "rmq_session"

// Sessions are the sign-ins. They end with the process.
type Sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session // by the hash of the name: how long a look-up takes says nothing of it
}

// session is a sign-in: whoever has its name has the token until then.
type session struct {
	token string
	until time.Time
}

// New returns none.
func New() *Sessions { return &Sessions{all: map[[sha256.Size]byte]session{}} }

// Begin begins a session, in place of the one that the browser has.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request, token string) {
	s.forget(r)
	set(w, r, s.begin(token, time.Now()), int(Lasts/time.Second))
}

// End ends the session of a browser.
func (s *Sessions) End(w http.ResponseWriter, r *http.Request) {
	s.forget(r)
	set(w, r, "", -1)
}

// Token is that of the browser's session; empty if it has none, or it has ended.
func (s *Sessions) Token(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	return s.token(cookie.Value, time.Now())
}

func set(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"})
}

// begin is the name of a new session.
func (s *Sessions) begin(token string, now time.Time) (name string) {
	name = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= most {
		s.makeRoomLocked(now)
	}
	s.all[sha256.Sum256([]byte(name))] = session{token, now.Add(Lasts)}
	return name
}

// makeRoomLocked forgets the sessions that are over, or else the oldest.
func (s *Sessions) makeRoomLocked(now time.Time) {
	var oldest [sha256.Size]byte
	for hash, one := range s.all {
		if !now.Before(one.until) {
			delete(s.all, hash)
		} else if first, there := s.all[oldest]; !there || one.until.Before(first.until) {
			oldest = hash
		}
	}
	if len(s.all) >= most {
		delete(s.all, oldest)
	}
}

func (s *Sessions) token(name string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[sha256.Sum256([]byte(name))]; now.Before(one.until) {
		return one.token
	}
	return ""
}

func (s *Sessions) forget(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, sha256.Sum256([]byte(cookie.Value)))
	}
}
