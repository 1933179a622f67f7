package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// change replaces a text of the product's source, which must be there exactly once.
// So the product needs no switch that only the benchmark would use.
type change struct{ file, from, to string }

// apply returns the changed files, by path.
func apply(changes []change) (map[string]string, error) {
	texts := map[string]string{}
	for _, c := range changes {
		path, err := filepath.Abs(filepath.Join("..", c.file))
		if err != nil {
			return nil, err
		}
		text, known := texts[path]
		if !known {
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("the product's source is needed, beside the directory the benchmark is run in: %w", err)
			}
			text = string(source)
		}
		if n := strings.Count(text, c.from); n != 1 {
			return nil, fmt.Errorf("%s: %d times instead of once: %s", c.file, n, c.from)
		}
		texts[path] = strings.Replace(text, c.from, c.to, 1)
	}
	return texts, nil
}

// build builds this program with a changed product, and returns its path. The
// source stays as it is.
func (b *bench) build(changes []change) (string, error) {
	texts, err := apply(changes)
	if err != nil {
		return "", err
	}
	dir, err := b.fleet.Directory()
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range texts {
		changed := filepath.Join(dir, fmt.Sprintf("%d_%s", len(overlay.Replace), filepath.Base(path)))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = changed
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	listed, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "bench")
	if err := os.WriteFile(listed, list, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-overlay", listed, "-o", program, ".")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT} // it tidies up
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with a changed product: %w: %s", err, said)
	}
	return program, nil
}
