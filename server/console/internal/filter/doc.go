// Package filter chooses dead messages by what people have written into a form, which also stands in addresses and in the forms that
// follow.
//
// It does not read the messages.
package filter
