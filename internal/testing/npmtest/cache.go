package npmtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// cache is where packages are kept, for all test processes of a user.
type cache struct {
	root, name string
	fill       func(dir string) error // installs into an empty folder
}

const (
	tries    = 3              // the network has hiccups
	unfilled = "new-"         // begins the name of a folder that is being filled
	leftFor  = 24 * time.Hour // nobody fills one for so long: its process was killed
)

func (c cache) folder() string { return filepath.Join(c.root, c.name) }

// filled reports whether the packages are there. The folder gets its name when they are.
func (c cache) filled() bool {
	_, err := os.Stat(c.folder())
	return err == nil
}

// install sees to it that they are there.
func (c cache) install() error {
	if c.filled() {
		return nil
	}
	if err := os.MkdirAll(c.root, 0o755); err != nil {
		return fmt.Errorf("install packages of npm: %w", err)
	}
	c.sweep()
	var errs []error
	for range tries {
		err := c.try()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("install packages of npm into %s: %w", c.folder(), errors.Join(errs...))
}

// try fills a folder of its own, and then gives it the name by which it is found.
func (c cache) try() error {
	dir, err := os.MkdirTemp(c.root, unfilled)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // unless it has its name by then
	if err := c.fill(dir); err != nil {
		return err
	}
	if err := os.Rename(dir, c.folder()); err != nil && !c.filled() { // or another process was faster
		return err
	}
	return nil
}

// sweep removes what killed processes have left.
func (c cache) sweep() {
	all, _ := filepath.Glob(filepath.Join(c.root, unfilled+"*")) // the pattern is good
	for _, dir := range all {
		if is, err := os.Stat(dir); err == nil && time.Since(is.ModTime()) > leftFor {
			_ = os.RemoveAll(dir)
		}
	}
}
