// Package dead are the commands about dead messages: to list, show, requeue, delete and export them.
//
// Which of them are meant is said by flags that these commands share, or by a content. Long ones stop at the time they
// began: what dies later is left out, so that no message is met twice. Why a message died, workers know: here it is read.
package dead
