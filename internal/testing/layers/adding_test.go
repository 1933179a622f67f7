package layers

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAdding holds what CONTRIBUTING says of the files that something new touches, by something that is there: it
// stands in these files of the product, and in no other of its folder.
func TestAdding(t *testing.T) {
	t.Parallel()
	files := repository(t)
	page := files[slices.IndexFunc(files, func(f file) bool { return f.path == "CONTRIBUTING.md" })].text
	for _, c := range []struct {
		what, like, folder string
		stands             []string
	}{
		{"An option of a listener", "NoBreaker", "", []string{"consumer/config.go", "consumer/running.go", "rmq/listening.go"}},
		{"A metric", "duplicates", "rmqprom", []string{"rmqprom/names.go", "rmqprom/sends.go"}},
		{"A check of the doctor", "eviction", "inspector/doctor", []string{"inspector/doctor/examine.go", "inspector/doctor/judge.go"}},
	} {
		word := regexp.MustCompile(`\b` + c.like + `\b`)
		var found []string
		for _, f := range files {
			if f.product() && f.goFile() && (c.folder == "" || within(f.path, c.folder)) && word.MatchString(f.text) {
				found = append(found, f.path)
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, c.stands) {
			t.Errorf("%s, %s, stands in %q, not in %q: say so in CONTRIBUTING.md", c.what, c.like, found, c.stands)
		}
		row := regexp.MustCompile(`(?m)^\| ` + c.what + ` \|.*$`).FindString(page)
		for _, name := range append(c.stands, c.like) {
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("CONTRIBUTING.md does not name `%s` in its row %q", name, c.what)
			}
		}
	}
}
