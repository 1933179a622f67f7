package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// files are those of a new server of one kind. The first server of a process makes them, the others copy them: to make
// them takes a processor two seconds.
type files struct {
	sync.Mutex
	dir string
}

var filesOfPostgreSQL, filesOfMariaDB files

// copyTo lays the folder data out in a folder. The files are made by make, if that was not done before.
func (f *files) copyTo(dir string, make func(dir string) error) error {
	from, err := f.made(make)
	if err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-Rp", filepath.Join(from, "data"), dir).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the files of a server: %w\n%s", err, out)
	}
	return own(dir)
}

func (f *files) made(make func(dir string) error) (string, error) {
	f.Lock()
	defer f.Unlock()
	if f.dir != "" {
		return f.dir, nil
	}
	dir, err := os.MkdirTemp("", "rmq-database-files-")
	if err != nil {
		return "", err
	}
	if err := make(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	f.dir = dir
	return dir, nil
}

// removeFiles is for the end of the process.
func removeFiles() error {
	var errs []error
	for _, f := range []*files{&filesOfPostgreSQL, &filesOfMariaDB} {
		f.Lock()
		if f.dir != "" {
			errs = append(errs, os.RemoveAll(f.dir))
		}
		f.dir = ""
		f.Unlock()
	}
	return errors.Join(errs...)
}

// layOut runs a program that makes the files of a server, in a folder that is then the server's.
func layOut(dir, input, path string, args ...string) error {
	if err := own(dir); err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdin = dir, diesWithParent(), strings.NewReader(input)
	asNobody(cmd.SysProcAttr)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", path, err, out)
	}
	return nil
}

// own makes a folder and what is in it the server's.
func own(dir string) error {
	return filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return giveToNobody(name)
	})
}
