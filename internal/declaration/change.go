package declaration

import "strconv"

// Change is what became of a plan that was set.
type Change uint8

const (
	// Added: there was none of that name.
	Added Change = iota

	// Replaced: another rule had that name.
	Replaced

	// Kept: the same rule was set before, and goes on, or is at its end.
	Kept

	// Mended: a clock far ahead of the present one had set the rule of that name, or moved its plan on.
	Mended

	// Unsent: like Replaced, and for the third time or more nothing was sent since the change before.
	Unsent
)

// String returns the word for it: "added", "replaced", "kept", "mended", "unsent".
func (c Change) String() string {
	if words := [...]string{"added", "replaced", "kept", "mended", "unsent"}; int(c) < len(words) {
		return words[c]
	}
	return "PlanChange(" + strconv.Itoa(int(c)) + ")"
}
