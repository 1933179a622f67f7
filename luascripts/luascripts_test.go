package luascripts

import (
	"testing"
	"testing/fstest"
)

func TestAssembled(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"whole.lua":     {Data: []byte("-- a line `--> file` is that file's lines\n--> steps/one.lua\nif x then\n  --> steps/two.lua\nend\n")},
		"steps/one.lua": {Data: []byte("local x\n")},
		"steps/two.lua": {Data: []byte("-- why\ncall('DEL')\n\nreturn x\n")},
	}
	const want = "-- a line `--> file` is that file's lines\nlocal x\nif x then\n  -- why\n  call('DEL')\n  \n  return x\nend\n"
	if got := assembled(files, "whole.lua"); got != want {
		t.Errorf("it is %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a file that is missing is not noticed")
		}
	}()
	delete(files, "steps/two.lua")
	assembled(files, "whole.lua")
}
