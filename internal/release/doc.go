// Package release has the tests of a release: that it is made as it should be, and that what is made can be installed.
// It is a module of its own, since it needs a library which makes the archives that modules are published as.
package release
