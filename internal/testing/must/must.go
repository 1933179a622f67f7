// Package must ends a test at an error that it does not expect.
package must

import "testing"

// Do ends the test unless err is nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
