// Package collector reads what pages show: once for all who look, and so that each Redis server spends at most a hundredth of its
// time on it.
//
// It does not know what is read, nor who looks.
package collector
