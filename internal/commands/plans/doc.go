// Package plans are the commands about plans, which send a message again and again: rmq every.
//
// Workers send what is planned. Here plans are listed, set, stopped, and run beside their times.
package plans
