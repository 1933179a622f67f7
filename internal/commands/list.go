package commands

import "iter"

// list is what a command lists: a row each for people, an object each for programs.
type list[T any] struct {
	all    iter.Seq2[T, error]
	heads  []string // of the columns, as in app.table
	row    func(T) []any
	object func(T) any
}

// show shows it, and returns how many there are. Parts that could not be read are told at the end of the command.
func show[T any](a *app, l list[T]) (n int, err error) {
	table := a.table(l.heads...)
	for x, err := range l.all {
		if err := a.partly(err); err != nil {
			return n, err
		}
		if err != nil { // it is the last
			break
		}
		n++
		if !a.json {
			table.row(l.row(x)...)
		} else if err := a.object(l.object(x)); err != nil {
			return n, err
		}
	}
	if a.json {
		return n, nil
	}
	return n, table.end()
}

// each has what is there already listed.
func each[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range all {
			if !yield(x, nil) {
				return
			}
		}
	}
}
