// Package topics are the commands about topics as a whole: which there are, what they hold, who works at them, whether
// all is well; and how they are paused, slowed down and deleted.
//
// What a topic holds one by one is for packages messages, dead and plans.
package topics
