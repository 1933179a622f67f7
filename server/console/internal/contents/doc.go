// Package contents shows the contents of messages, and names messages in addresses and forms: by their contents, if these are short
// and may be seen; in forms by their contents in base64; or else by their slots and the hashes of their contents, by which they are
// looked for where they were seen.
//
// It does not look for them.
package contents
