// Package ask is what all subjects of package inspector stand on: a topic is looked up, a question goes to each of its slots, and
// what could not be looked at is collected, while the rest is.
//
// It knows no subject: what the answers mean is said where they are asked for.
package ask
