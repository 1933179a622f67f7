package script

import (
	"io/fs"
	"regexp"
	"strings"
)

// part is a line that stands for a file: its first group is how far it stands to the right, its second the file's name.
var part = regexp.MustCompile(`(?m)^( *)--> (\S+)$`)

// Assembled is the source in a file, with the lines of another file for each line that names one. Redis knows one
// script; people read one step of it at a time. It panics if a file is missing, and is for variables of packages.
func Assembled(files fs.FS, file string) string {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		panic(err)
	}
	return part.ReplaceAllStringFunc(string(text), func(line string) string {
		m := part.FindStringSubmatch(line)
		lines := strings.TrimSuffix(Assembled(files, m[2]), "\n")
		return m[1] + strings.ReplaceAll(lines, "\n", "\n"+m[1])
	})
}
