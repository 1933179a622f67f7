// Package silence says that Redis does not answer: where it was asked, and what came instead.
package silence
