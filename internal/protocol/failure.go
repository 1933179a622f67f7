package protocol

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Failure is what is known about a message that failed: an entry of the hash `why`, kept
// while the message waits for a retry and after its death. Without a failed attempt it is
// about a first delivery that its handler put back: First and Last are when it did.
type Failure struct {
	Attempts    int // deliveries that failed since the last send
	First, Last time.Time
	Priority    int64  // it was sent with; 0: unknown, or not a Priority topic
	Worker      string // that reported or lost the last delivery
	Reason      string // of the last failure
}

// PutBack reports whether it is about a first delivery that its handler put back.
func (f *Failure) PutBack() bool { return f.Attempts == 0 }

// ParseFailure reads 'attempts first last priority worker reason'.
func ParseFailure(entry string) (f Failure, ok bool) {
	part := strings.SplitN(entry, " ", 6)
	if len(part) != 6 {
		return f, false
	}
	attempts, err1 := strconv.Atoi(part[0])
	first, err2 := strconv.ParseInt(part[1], 10, 64)
	last, err3 := strconv.ParseInt(part[2], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return f, false
	}
	f = Failure{Attempts: attempts, First: time.UnixMilli(first), Last: time.UnixMilli(last), Worker: part[4], Reason: part[5]}
	if part[3] != "-" {
		f.Priority, err1 = strconv.ParseInt(part[3], 10, 64)
	}
	return f, err1 == nil
}

// String is the entry of `why` that says so.
func (f *Failure) String() string {
	priority := "-"
	if f.Priority > 0 {
		priority = strconv.FormatInt(f.Priority, 10)
	}
	return strings.Join([]string{
		strconv.Itoa(f.Attempts), strconv.FormatInt(f.First.UnixMilli(), 10), strconv.FormatInt(f.Last.UnixMilli(), 10),
		priority, cmp.Or(f.Worker, "-"), f.Reason,
	}, " ")
}
