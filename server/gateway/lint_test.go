package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/npmtest"
)

// finding is what a linter says of a file: an error, a warning, or a hint.
type finding struct{ file, text string }

// Neither of the linters that most people use finds anything in the document, and no rule of theirs is switched off.
func TestDocumentIsClean(t *testing.T) {
	t.Parallel()
	for _, linter := range []struct {
		name, program string
		args          []string
		read          func(testing.TB, []byte) []finding
	}{
		{"redocly", "@redocly/cli/bin/cli.js", []string{"lint", "--extends=recommended", "--format=json"}, ofRedocly},
		{"spectral", "@stoplight/spectral-cli/dist/index.js", []string{"lint", "--quiet", "--format=json", "--ruleset=testdata/spectral.yaml"}, ofSpectral},
	} {
		t.Run(linter.name, func(t *testing.T) {
			t.Parallel()
			worse := filepath.Join(t.TempDir(), "worse.json")
			must.Do(t, os.WriteFile(worse, []byte(`{"openapi": "3.0.3", "info": {"title": "It has no servers", "version": "1"}, "paths": {}}`), 0o644))
			program := filepath.Join(npmtest.Modules(t), linter.program)
			cmd := npmtest.Node(t, append(append([]string{program}, linter.args...), "openapi.json", worse)...)
			var says bytes.Buffer
			cmd.Stderr = &says
			out, err := cmd.Output() // an error or not, as one of the two is worse
			seen := false
			for _, f := range linter.read(t, out) {
				switch filepath.Base(f.file) {
				case "openapi.json":
					t.Error(f.text)
				case "worse.json":
					seen = seen || strings.Contains(f.text, "servers")
				}
			}
			if !seen {
				t.Errorf("it does not miss the servers, so it looks at nothing: %v\n%s%s", err, out, says.String())
			}
		})
	}
}

// ofRedocly reads its reports, one about each file.
func ofRedocly(t testing.TB, text []byte) (all []finding) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var report struct {
			Problems []struct {
				RuleID, Severity, Message string
				Location                  []struct {
					Source  struct{ Ref string }
					Pointer string
				}
			}
		}
		must.Do(t, d.Decode(&report))
		for _, p := range report.Problems {
			for _, at := range p.Location {
				all = append(all, finding{at.Source.Ref, fmt.Sprintf("%s %s: %s %s", p.Severity, p.RuleID, at.Pointer, p.Message)})
			}
		}
	}
	return all
}

// ofSpectral reads its report about all files.
func ofSpectral(t testing.TB, text []byte) (all []finding) {
	t.Helper()
	var report []struct {
		Code, Message, Source string
		Path                  []any
	}
	must.Do(t, json.Unmarshal(text, &report))
	for _, p := range report {
		all = append(all, finding{p.Source, fmt.Sprintf("%s: %v %s", p.Code, p.Path, p.Message)})
	}
	return all
}
