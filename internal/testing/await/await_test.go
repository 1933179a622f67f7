package await

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a test whose end by Fatalf is seen.
type watched struct {
	testing.TB
}

type ended string

func (watched) Helper()                           {}
func (watched) Fatalf(format string, args ...any) { panic(ended(fmt.Sprintf(format, args...))) }

// says is what f ends its test with, and after how long.
func says(t *testing.T, f func(testing.TB)) (text string, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		defer func() {
			took = time.Since(begun)
			if v := recover(); v != nil {
				text = string(v.(ended))
			}
		}()
		f(watched{t})
	})
	return text, took
}

func TestPatience(t *testing.T) {
	for want, f := range map[string]func(testing.TB){
		"the door: not within 1m0s":         func(t testing.TB) { Signal(t, "the door", make(chan int)) },
		"the door: not so within 1m0s":      func(t testing.TB) { True(t, "the door", func() bool { return false }) },
		"the door: not within 1m0s: closed": func(t testing.TB) { Nil(t, "the door", func() error { return errors.New("closed") }) },
	} {
		if text, took := says(t, f); text != want || took != time.Minute {
			t.Errorf("%q after %v, want %q after a minute", text, took, want)
		}
	}
}

func TestWhatComesIsAwaited(t *testing.T) {
	for name, f := range map[string]func(testing.TB, <-chan int, func() bool){
		"signal": func(t testing.TB, c <-chan int, _ func() bool) {
			if v := Signal(t, "", c); v != 7 {
				t.Fatalf("%d", v)
			}
		},
		"true": func(t testing.TB, _ <-chan int, is func() bool) { True(t, "", is) },
		"nil": func(t testing.TB, _ <-chan int, is func() bool) {
			Nil(t, "", func() error {
				if is() {
					return nil
				}
				return errors.New("not yet")
			})
		},
	} {
		text, took := says(t, func(t testing.TB) {
			c, due := make(chan int, 1), time.Now().Add(30*time.Second)
			time.AfterFunc(time.Until(due), func() { c <- 7 })
			f(t, c, func() bool { return !time.Now().Before(due) })
		})
		if text != "" || took < 30*time.Second || took > 30*time.Second+lastLook {
			t.Errorf("%s: %q after %v", name, text, took)
		}
	}
}

func TestSilence(t *testing.T) {
	if text, took := says(t, func(t testing.TB) { Silence(t, "a word", make(chan int), time.Second) }); text != "" || took != time.Second {
		t.Errorf("%q after %v", text, took)
	}
	loud := make(chan int, 1)
	loud <- 7
	if text, _ := says(t, func(t testing.TB) { Silence(t, "a word", loud, time.Second) }); text != "a word: 7" {
		t.Errorf("%q", text)
	}
}

func TestContextsEndWithPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ctx := range []interface{ Deadline() (time.Time, bool) }{Context(t), CleanupContext(t)} {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) != time.Minute {
				t.Errorf("ends in %v", time.Until(end))
			}
		}
	})
}

func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if Pass(time.Second); time.Since(begun) != time.Second {
			t.Errorf("it took %v", time.Since(begun))
		}
	})
}
