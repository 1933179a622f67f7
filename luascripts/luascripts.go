// Package luascripts is what RMQ does inside Redis: the scripts, in Lua. docs/PROTOCOL.md explains them, and the keys on
// which they work. Workers and senders call those of this folder, people those of the folder byhand.
//
// turn.lua and send.lua are made of steps, which stand in the folders turn and send: a line `--> file` stands for the
// lines of that file. Redis gets each script whole.
//
// A program in Go needs none of it, but package rmq. In another language you call the scripts by their text, as the
// header of each says.
package luascripts

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed *.lua */*.lua
var files embed.FS

// Source is the whole text of the script in a file, such as "turn.lua" or "byhand/page.lua". It panics if there is none.
func Source(file string) string { return assembled(files, file) }

// part is a line that stands for a file: its first group is how far it stands to the right, its second the file's name.
var part = regexp.MustCompile(`(?m)^( *)--> (\S+)$`)

func assembled(files fs.FS, file string) string {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		panic(err)
	}
	return part.ReplaceAllStringFunc(string(text), func(line string) string {
		m := part.FindStringSubmatch(line)
		lines := strings.TrimSuffix(assembled(files, m[2]), "\n")
		return m[1] + strings.ReplaceAll(lines, "\n", "\n"+m[1])
	})
}
