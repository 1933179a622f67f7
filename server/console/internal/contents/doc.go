// Package contents shows the contents of messages, and names messages in addresses and forms: by their contents, if
// these are short and may be seen (in forms, in base64); or else by their slots and the hashes of their contents. By
// such a hash a message is looked for where it was seen.
//
// It does not look for them.
package contents
