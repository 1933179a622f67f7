// Package ids gives each message that is pushed its webhook-id: one for all tries of one wait, whichever process tries, so that
// a receiver may drop what it has seen.
//
// Equal content that is sent when the message has ended, or while it runs, is a new message and gets another id: else receivers
// would drop it. That goes before all else. So attempt 1 begins a new id, and only a later attempt, which is certain to be of
// the same wait, goes on with the one that Redis has. After an attempt 1 whose target has surely not handled anything the id
// may stay, too; see Back. One that Close cuts off may have been handled, and equal content may have been sent meanwhile.
//
// What is late does no harm: a process that was frozen has a smaller fence than the one that took over, and Redis refuses it.
//
// One hole is left, and takes two kills of processes: one when a message has ended, before its id is forgotten; and one when
// equal content was taken for the first time, before its own id is there. Then the second one has the id of the first.
package ids

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
