// Package ids gives each message that is pushed its webhook-id: one for all tries of one wait, whichever process tries, so that
// a receiver may drop what it has seen.
//
// Equal content that is sent when the message has ended, or while it runs, is a new message and gets another id: else
// receivers would drop it. That is the first rule. So attempt 1 begins a new id, and a later attempt keeps the one that
// Redis has. If the target of attempt 1 has surely not handled anything, the id may stay, too; see Back. An attempt
// that Close cuts off may have been handled, and equal content may have been sent since.
//
// A take-over also spends an attempt of messages that were not begun. So all ids of a batch begin when it is taken, and
// not each with its try. A late process does no harm: if it was frozen, its fence is smaller than that of the one that
// took over, and Redis refuses it.
//
// One hole is left: a worker is killed or cut off between taking a new message and beginning its id, and Redis still
// has the id of an older message of equal content. Then the new one gets that id. All of this holds for pushes only:
// any other worker of the topic begins no id.
package ids

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
