package servertest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestDisk(t *testing.T) {
	t.Parallel()
	d := NewDisk(t, 1<<20)
	if d == nil {
		return // it has run elsewhere
	}
	write := func() error { return os.WriteFile(filepath.Join(d.Path, "file"), []byte("x"), 0o600) }
	d.Fill(t)
	if err := write(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	d.Free(t)
	if err := write(); err != nil {
		t.Error(err)
	}
}
