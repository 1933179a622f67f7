// Package npmtest gives tests the packages of npm that package.json names: two linters of OpenAPI, and the library with
// which receivers of webhooks verify them.
//
//	out, err := npmtest.Node(t, filepath.Join(npmtest.Modules(t), "@redocly/cli/bin/cli.js"), "lint", file).Output()
//	out, err := npmtest.Node(t, "-e", `require("standardwebhooks")`).Output()
//
// The packages are those of package-lock.json, with the hashes that are there. They are installed once, into the user's
// folder for caches and never into the tree, where they are found again, also without a network. Each state of the lock
// file has a folder of its own. It appears whole: a test process that is killed meanwhile leaves none, and of several
// that install at once each finds one. No script of a package runs when it is installed.
//
// Without RMQ_REQUIRE_SERVERS=1 nothing is installed: a test whose packages are not there ends as one whose server is
// missing, and so it does if there is no npm.
//
// To take other versions: change package.json, run this in a folder with both files, and commit what it changes. They
// must run on the Node of Debian.
//
//	npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
//
// The package does not judge what the programs say, and it does not remove what older lock files installed.
package npmtest
