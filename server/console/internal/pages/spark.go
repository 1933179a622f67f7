package pages

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// The size of a small chart, in pixels.
const sparkWidth, sparkHeight = 120, 24

// Spark draws numbers as a line, the newest of so many on the right, from 0 to the largest of them.
func Spark(all []int, steps int) template.HTML {
	if len(all) < 3 { // a dot says nothing
		return ""
	}
	most := max(1, slices.Max(all))
	step := float64(sparkWidth-2) / float64(steps)
	var line strings.Builder
	for n, value := range all {
		x := sparkWidth - 1 - step*float64(len(all)-1-n)
		y := 1 + float64(sparkHeight-2)*(1-float64(value)/float64(most))
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	words := fmt.Sprintf("%s now; in the last half hour from %s to %s", words.Grouped(all[len(all)-1]), words.Grouped(slices.Min(all)), words.Grouped(slices.Max(all)))
	return template.HTML(fmt.Sprintf( //nolint:gosec // numbers only
		`<svg class="spark" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><polyline points="%s"/></svg>`,
		sparkWidth, sparkHeight, sparkWidth, sparkHeight, words, words, strings.TrimSpace(line.String())))
}
