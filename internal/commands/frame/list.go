package frame

import (
	"fmt"
	"iter"
)

// List is what a command lists: a row each for people, an object each for programs.
type List[T any] struct {
	All    iter.Seq2[T, error]
	Heads  []string // of the columns, as in [Page.Table]
	Row    func(T) []any
	Object func(T) any
}

// On shows it, and returns how many there are. The command names the parts that could not be read at its end.
func (l List[T]) On(p *Page) (n int, err error) {
	table := p.Table(l.Heads...)
	for x, err := range l.All {
		if err := p.Partly(err); err != nil {
			return n, err
		}
		if err != nil { // it is the last
			break
		}
		n++
		if !p.JSON {
			table.Row(l.Row(x)...)
		} else if err := p.Object(l.Object(x)); err != nil {
			return n, err
		}
	}
	table.End()
	return n, nil
}

// Each has what is there already listed.
func Each[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range all {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// Several describes a few, with an empty line between them: in lines for people, as an object each for programs.
func Several[T any](p *Page, all []T, object func(T) any, describe func(T)) {
	for n, x := range all {
		if p.JSON {
			p.Object(object(x))
			continue
		}
		if n > 0 {
			fmt.Fprintln(p.Out)
		}
		describe(x)
	}
}
