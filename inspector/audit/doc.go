// Package audit is what inspector.Inspector.Verify finds: violations of the rules in docs/PROTOCOL.md by what is stored.
//
// It mends nothing.
package audit
