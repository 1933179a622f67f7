// Package ids gives each message that is pushed its webhook-id: one for all tries of one wait, whichever process tries, so that
// a receiver may drop what it has seen.
//
// Equal content that is sent when the message has ended, or while it runs, is a new message and gets another id: else receivers
// would drop it. That goes before all else. So attempt 1 begins a new id, and a later one goes on with that which Redis has.
// After an attempt 1 whose target has surely not handled anything the id may stay, too; see Back. One that Close cuts off may
// have been handled, and equal content may have been sent meanwhile.
//
// A take-over spends an attempt of messages that were not begun, too. So all ids of a batch begin when it is taken, and not each
// with its try. What is late does no harm: a process that was frozen has a smaller fence than the one that took over, and Redis
// refuses it.
//
// One hole is left: a worker is killed or cut off in the moment between taking a new message and that beginning, and Redis still
// has the id of an older one of equal content. Then the new one has it. And all of this is of pushes alone: another worker
// of the topic, that takes a new message and fails, begins no id.
package ids

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
