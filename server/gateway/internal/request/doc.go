// Package request is what a request asks for: bodies and parameters in the words of openapi.json, each of which is read into what
// the library wants, or is an error that names the field.
//
// It does not ask Redis, and does not know who asks.
package request
