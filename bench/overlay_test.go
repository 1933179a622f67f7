package main

import "testing"

// The texts that are replaced are still there. Whoever changes them in the product
// must say here, too, what that rule looks like now.
func TestChangesFit(t *testing.T) {
	t.Parallel()
	all := map[string][]change{"polling": polling}
	for _, a := range ablations {
		all[a.name] = a.changes
	}
	for name, changes := range all {
		if _, err := apply(changes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
