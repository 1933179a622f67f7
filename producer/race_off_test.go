//go:build !race

package producer

// stormMessages is how many messages the storm sends: fewer under the race
// detector, which makes it some fifteen times slower.
const stormMessages = 1_000_000
