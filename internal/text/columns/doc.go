// Package columns lays texts out in the columns of a terminal: how many one takes, and how it fits into fewer.
package columns
