package words

import "testing"

func TestReason(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{
		"no such tax code: 4711":                        "no such tax code: #",
		"dial tcp 10.0.0.7:5432: i/o timeout":           "dial tcp #.#.#.#:#: i/o timeout",
		"shop 550e8400-e29b-41d4-a716-446655440000 has": "shop # has",
		"panic: x\ngoroutine 7 [running]":               "panic: x",
		"  spaced \r\n":                                 "spaced",
		"":                                              "",
		"\xff\xfe bad":                                  " bad",
	} {
		if got := Reason(failure); got != want {
			t.Errorf("%q is %q, not %q", failure, got, want)
		}
	}
}
