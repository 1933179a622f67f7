// Package story says in lines for people what is known of a message: where it is and what it waits for, and what
// the journal has of it. The command rmq prints them, and the console shows them.
//
//	for _, line := range style.Of(explanation) {
//		fmt.Println(line.Label, line.Text)
//	}
//
// It asks no server: what it says is given to it.
package story
