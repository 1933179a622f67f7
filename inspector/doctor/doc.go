// Package doctor is what inspector.Inspector.Doctor finds: checks of the servers, and of topics that need attention.
//
// It mends nothing.
package doctor
