// Package problem is what the console answers where it does not show the page that was asked for, in words for people, and what it
// says of mistakes in forms.
//
// It does not log, and does not know who asks.
package problem
