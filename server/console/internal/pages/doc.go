// Package pages is how the pages of the console look: their templates, the files that they load, the small pictures,
// and the texts about what a form has done.
//
// It knows nothing of requests, and reads nothing from Redis.
package pages
