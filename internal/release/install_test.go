package release

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Somebody gets each module, builds all that it has, and installs each command: from archives that have nothing of this
// repository but what a tag of the module brings.
func TestInstall(t *testing.T) {
	t.Parallel()
	here, p := thisTree(t), newProxy(t)
	for _, folder := range folders {
		p.publish(here, folder)
	}
	for _, folder := range folders {
		m := here.module(folder)
		shop := p.shop()
		p.runs(shop, "go", "get", m.Path+"/...@"+m.Version)
		// A program would be linked, too, which takes long.
		all := strings.Fields(p.runs(shop, "go", "list", "-f", `{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}`, m.Path+"/..."))
		for n, path := range slices.Backward(all) {
			if strings.Contains(path, "/internal/") { // for nobody, but through the others
				all = slices.Delete(all, n, n+1)
			}
		}
		p.runs(shop, append([]string{"go", "build"}, all...)...)
	}
	for _, command := range []string{"cmd/rmq", "rmqprom/exporter", "server/cmd/rmqd"} {
		path := here.module(".").Path + "/" + command
		p.runs(t.TempDir(), "go", "install", path+"@"+here.version())
		name := filepath.Base(path)
		help := p.runs(".", filepath.Join(p.cache, "bin", name), "-h")
		if !strings.Contains(help, name) {
			t.Errorf("%s -h\n%s", name, help)
		}
		if name == "exporter" { // it has no versions to tell
			continue
		}
		if said, want := p.runs(".", filepath.Join(p.cache, "bin", name), "--version"), name+" "+here.version()+"\n"; said != want {
			t.Errorf("%s --version says %q, want %q", name, said, want)
		}
	}
}
