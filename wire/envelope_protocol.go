package wire

import "time"

// The protocol as both sides name it.
const (
	// EnvelopeType is the `type` of every envelope.
	EnvelopeType = "AgentsAction"
	// ProtocolNumber is the version that this package speaks.
	ProtocolNumber = 3
	// MinClientProtocol is the oldest version that a server admits. A client that declares none speaks version 1.
	MinClientProtocol = 1
	// ClockWindow is how far an action's timestamp may be from the server's clock, either way and inclusive.
	ClockWindow = 5 * time.Minute
	// MediaType is the content type of requests and answers.
	MediaType = "application/cbor"
	// ProtocolHeader is the response header in which a server states its version.
	ProtocolHeader = "X-Agents-Protocol"
	// SubscribeAction is the one action that travels over the WebSocket.
	SubscribeAction = "Subscribe"
	// UnsubscribeAction ends a subscription on a socket of stream 2. It is sent bare, without an envelope: it grants nothing.
	UnsubscribeAction = "Unsubscribe"
)

// The addresses below a server's base URL. The first two also exist without or with the /agents prefix, respectively.
const (
	// MessagePath takes actions by POST.
	MessagePath = "/api/message"
	// HealthPath answers JSON about the server.
	HealthPath = "/agents/api/health"
	// SocketPath is upgraded to the WebSocket.
	SocketPath = "/agents/ws"
	// PathPrefix is what a configured base URL may end in; clients strip it.
	PathPrefix = "/agents"
)
