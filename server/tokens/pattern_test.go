package tokens

import "testing"

// A star stands for any text, and nothing else has a meaning: what other matchers know opens no topic, and hides none.
func TestTopicsOfATokenKnowOnlyStars(t *testing.T) {
	t.Parallel()
	for pattern, topics := range map[string]map[string]bool{
		"job[1]":  {"job[1]": true, "job1": false},
		"ord?rs":  {"ord?rs": true, "orders": false},
		`a\*`:     {`a\b`: true, "a*": false, `a\`: true},
		"*":       {"": true, "orders": true, "ä*": true},
		"a*b*a":   {"aba": true, "a-b-b-a": true, "ab": false, "a-b": false, "aab": false, "aa": false},
		"*-mails": {"shop-mails": true, "-mails": true, "shop-mails-2": false, "mails": false},
		"a**b":    {"ab": true, "axb": true, "a": false},
		"a*a":     {"a": false, "aa": true},
	} {
		for topic, fits := range topics {
			if patternOf(pattern).fits(topic) != fits {
				t.Errorf("%q fits %q: %t", pattern, topic, !fits)
			}
		}
	}
}
