//go:build race

package luascripts_test

const underRace = true
