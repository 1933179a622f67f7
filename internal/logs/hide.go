package logs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Without puts "…" in place of some contents of messages, whether they stand in a text as they
// are, or with the escapes of %q, %+q or JSON. A part of a content, or a content in another
// form, stays.
func Without(contents ...string) *strings.Replacer {
	var forms []string
	for _, content := range contents {
		if content != "" {
			forms = append(forms, content, inner(strconv.Quote(content)), inner(strconv.QuoteToASCII(content)), inJSON(content))
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be a part of another
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, "…")
	}
	return strings.NewReplacer(pairs...)
}

// inner is what stands between quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func inJSON(content string) string {
	text, _ := json.Marshal(content) // of a string: never an error
	return inner(string(text))
}
