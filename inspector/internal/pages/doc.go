// Package pages goes through sorted sets of many slots in one order, page by page, while contents come and go. What stays is met
// exactly once.
//
// It does not know what the members are.
package pages
