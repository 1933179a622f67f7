// Package pattern makes filters of contents from what people type: a pattern with * and ?, or a regular expression.
//
// It does not know what the contents are.
package pattern
