// Package client lets a Go program use a server of the agents protocol: it signs actions, calls them, and follows
// live streams.
//
//	c, err := client.New("https://agents.example.org", key)
//	reply, err := client.Call[wire.ListAgentsResponse](ctx, c, "ListAgents", nil)
//	for frame, err := range c.Subscribe(ctx, "sessions/"+id, 0) { … }
//
// NewWithToken makes the same client of a server's REST API, for programs that have a token instead of a key.
//
// # Promises
//
// Actions are signed at the time of the call, so a Client may live as long as the program. A failed action is an *Error
// with the server's text. A subscription reconnects by itself, takes up a session after the last event it delivered and
// delivers no durable event twice.
//
// A Client sends nothing to a plain http address outside this machine unless WithPlainHTTP says so, because actions can
// hold secrets, and it follows no redirect.
//
// # Limits
//
// Of a client that signs, nothing is retried except the connection of a subscription: whether an action may be sent again is
// known to its caller. One with a token sends a request again that the server could not take, with the same Idempotency-Key. Partial frames that pass while a subscription is disconnected are lost, as they are durable nowhere.
//
// The package is tier 1 and public. It imports dagcbor, principal and wire. A Client is safe for concurrent use.
package client
