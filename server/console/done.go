package console

import "net/url"

// doneText is what the last form has done, by a word and a number in the address that it has led to. The address
// cannot make a page say anything else.
func doneText(q url.Values) string {
	switch q.Get("done") {
	default:
		return ""
	}
}
