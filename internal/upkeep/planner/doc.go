// Package planner sends what the plans of a worker's slots have to send: the work behind
// rmq.Client.Every.
//
// Redis has the plans, and when each occurs next. The worker that has the slot asks what is due,
// computes with the rule when it is due after that, and has one script do both: send, and move
// the plan on. It asks when it gains the slot, when it hears that a plan was set, when the next
// time has come, and at each safety look. All times are by the clock of the server. A topic
// without plans costs one question for the slots that may have any, at each safety look.
//
// Nothing here says who may send: another worker that believes to have the slot sends the same, and
// one of both is told that it is stale. So whatever gets lost, the next look puts it right.
//
// It does not know when a rule occurs: see package plan.
package planner
