// Package plans looks at the plans of topics, and sets and stops them: messages that are sent again and again. You get it by
// inspector.Inspector.Plans.
//
// It does not send them: the workers of the topic do.
package plans
