// Package webtest proves the console, package server/console, in a real browser, on live servers with workers at
// work. It has only tests.
package webtest
