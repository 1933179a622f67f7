// Package typed sends and handles values of your own types.
//
// The content of a message is also its identity: only equal contents merge. So decide
// first what your messages are.
//
//   - They say that something has changed, and only its last state counts: use [Ref]. The
//     content is the identity of the value, such as a product's id, and the handler loads
//     the value. A thousand changes of one product are one delivery, with the last state.
//   - They are the values themselves: use [Topic]. The content is the whole value, so equal
//     values merge, and values that differ in one field are two messages.
//   - They must never merge: use [Topic] with [Distinct].
//
// The package does not use Redis. It turns a value into a message for a client or a producer,
// and a delivery into a value for your handler.
package typed
