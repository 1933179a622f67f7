// Package declaration sets the plans of a topic, as programs and people declare them, and ends them.
// A plan lives in the slot of its content, so a rule that takes the place of another may be in another
// slot: package declaration leaves one rule of a name. plan.lua does each step in a slot as a whole;
// docs/PROTOCOL.md has the order of the steps.
//
// What the package does not do: it sends nothing (package planner does), and lists no plans (package
// inspector does).
package declaration
