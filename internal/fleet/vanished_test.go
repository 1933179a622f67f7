package fleet

import (
	"maps"
	"slices"
	"testing"
)

// Who was renewed, has come or has gone has not vanished.
func TestVanished(t *testing.T) {
	t.Parallel()
	before := map[string]presence{"lives": {until: 1000}, "killed": {until: 1000}, "left": {until: 1000}}
	after := map[string]presence{"lives": {until: 1001}, "killed": {until: 1000}, "new": {until: 1000}}
	if got := slices.Collect(maps.Keys(vanished(before, after))); !slices.Equal(got, []string{"killed"}) {
		t.Errorf("%v", got)
	}
}
