// Package diff says in which fields the definition of a topic in this program differs
// from the one that is stored, in Redis or in ZooKeeper.
package diff

import (
	"fmt"
	"strings"
)

// Fields are the fields that differ.
type Fields struct {
	In string // where the stored definition is, such as "Redis"

	differ []string
}

// Compare notes the field if the two values differ.
func (f *Fields) Compare(field string, ours, stored any) {
	if ours != stored {
		f.differ = append(f.differ, fmt.Sprintf("%s is %v in this program and %v in %s", field, ours, stored, f.In))
	}
}

// Err returns an error for the topic that wraps conflict and names each field that
// differs, or nil if none does.
func (f *Fields) Err(topic string, conflict error) error {
	if f.differ == nil {
		return nil
	}
	return fmt.Errorf("define topic %s: %w: %s", topic, conflict, strings.Join(f.differ, ", "))
}
