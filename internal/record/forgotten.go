package record

import "time"

// Forgotten is what a journal has of a topic, and Redis has not, though no end of it was
// told: Redis was emptied, or has come back with an older state.
type Forgotten struct {
	Topic    string    // with the namespace in front of its name
	Slots    []int     // in which messages are missing
	Messages int       // so many
	Since    time.Time // what came after is forgotten; zero: it is not known since when
}
