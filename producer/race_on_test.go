//go:build race

package producer

const stormMessages = 60_000
