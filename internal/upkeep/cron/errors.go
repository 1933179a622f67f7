package cron

import "strconv"

// Error says what is wrong with an expression.
type Error struct {
	Field string // such as "day of month"; "expression" if it is about all of it
	Value string // what was found there, in quotes; a long text is shortened
	Limit string // what it must be
}

func (e *Error) Error() string {
	return e.Field + " is " + e.Value + "; it must be " + e.Limit
}

func wrong(field, value, limit string) *Error {
	const most = 60
	if len(value) > most {
		value = value[:most] + "…"
	}
	return &Error{Field: field, Value: strconv.Quote(value), Limit: limit}
}
