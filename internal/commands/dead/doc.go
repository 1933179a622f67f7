// Package dead are the commands about dead messages: to list, show, requeue, delete and export them.
//
// These commands share the flags that choose messages; or you name one content. Long ones stop at the time they began:
// what dies later is left out, so that no message is met twice. They show why a message died, but do not decide it:
// workers do.
package dead
