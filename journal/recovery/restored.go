package recovery

import "fmt"

// Restored counts what became of the messages that a restore has met. Those that are over are not
// counted. With DryRun it is what would become of them.
type Restored struct {
	Waiting int `json:"waiting"` // wait again, with all their deliveries
	Dead    int `json:"dead"`    // are dead again

	// Twice counts those of Waiting that perhaps were handled: they were due before Redis lost them, or
	// have a priority. Of those, the ones whose end is not in the journal are handled once more.
	Twice int `json:"perhaps_twice"`

	There   int `json:"there"`   // were in Redis, and stay as they are: they wait, are in flight, wait for a retry, or are dead; or were sent meanwhile
	Expired int `json:"expired"` // are left out, as their time to live is over

	// Unsure counts those that may have been brought back, or were there: an answer of Redis is lost.
	Unsure int `json:"unsure,omitempty"`

	// Unknown counts dead ones whose send is not in the journal, so that nobody knows their content.
	Unknown int `json:"content_unknown,omitempty"`

	// Late is how many programs have not written in time what they hold in memory. What they
	// write later another call brings back.
	Late int `json:"programs_late,omitempty"`
}

// String says it in one line.
func (r Restored) String() string {
	text := fmt.Sprintf("%d waiting, %d dead, %d perhaps twice", r.Waiting, r.Dead, r.Twice)
	for _, more := range []struct {
		n    int
		what string
	}{
		{r.There, "there already"}, {r.Expired, "expired and left"}, {r.Unsure, "perhaps brought back"},
		{r.Unknown, "dead of unknown content"}, {r.Late, "programs late"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text
}
