//go:build race

package cron

const raceDetector = true
