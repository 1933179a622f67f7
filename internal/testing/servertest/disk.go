package servertest

import (
	"os"
	"path/filepath"
	"testing"
)

// Disk is a small one, which a test may fill.
type Disk struct {
	Path string // of its only folder
}

// other is the file of somebody who needs all the room that there is.
func (d *Disk) other() string { return filepath.Join(d.Path, "other") }

// Fill takes the last byte of room.
func (d *Disk) Fill(t testing.TB) {
	t.Helper()
	f, err := os.Create(d.other())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := 1 << 20; block > 0; {
		if _, err := f.Write(make([]byte, block)); err != nil {
			block /= 2
		}
	}
}

// Free makes room again.
func (d *Disk) Free(t testing.TB) {
	t.Helper()
	// Emptied first: a process that was just forked may have it open for a moment more.
	if err := os.Truncate(d.other(), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.other()); err != nil {
		t.Fatal(err)
	}
}
