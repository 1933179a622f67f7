package model

// Journaling says what a journal outside of Redis knows of the slot's numbers. It keeps which contents
// were sent, and is told of each batch with its number what has ended in it. So it says what is owed
// also when Redis is lost.
//
// There must be no program among the workers that takes more than may be told at once: what is left of
// such a batch is told under another number, and that is not above what was sent meanwhile.
type Journaling int8

const (
	NoJournal    Journaling = iota
	ReadWithSend            // a send knows the slot's number of its moment
	ReadBehind              // the number is read after the send, by a step of its own: what a producer does
)

// note is what the journal is told of a send.
func (w *world) note(c int) {
	if w.Journaling == NoJournal {
		return
	}
	w.Journal[c], w.Below[c], w.Unread[c] = true, false, w.Journaling == ReadBehind
}

// outgrow is what a new number means to the sends whose own number has been read: it is above theirs.
func (w *world) outgrow() {
	for c := range w.Below {
		w.Below[c] = w.Journal[c] && !w.Unread[c]
	}
}

// settle is the report of the batch with the present number: c has ended in it.
func (w *world) settle(c int) {
	if w.Below[c] || !w.SettleBelow {
		w.Journal[c] = false
	}
}

// checkJournal compares the journal with Redis. Nothing in Redis may be settled. What has ended may
// be owed only where the number is read behind the send: a take may have come between.
func (w *world) checkJournal() {
	for c := range w.Max.Contents {
		there := w.Store[c] != 0 || w.Prepare[c] != 0 || w.RetryDue[c] != 0
		switch {
		case w.Journaling == NoJournal:
		case (there || w.Owed[c]) && !w.Journal[c]:
			w.violate("JOURNAL-LOST", "%c is owed, and settled in the journal", letter(c))
		case !there && w.Journal[c] && w.Journaling == ReadWithSend:
			w.violate("JOURNAL-KEPT", "%c has ended, and is owed in the journal", letter(c))
		}
	}
}

// normaliseJournal: of what is settled, nothing else matters.
func (w *world) normaliseJournal(c int) {
	if !w.Journal[c] {
		w.Below[c], w.Unread[c] = false, false
	}
}
