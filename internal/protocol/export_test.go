package protocol

// ErrAnswer lets the tests name the error.
var ErrAnswer = errAnswer
