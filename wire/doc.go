// Package wire is the vocabulary of the agents protocol: the signed envelope in which every action travels, the frames
// and entities that answer it, and the texts that its clients show or compare.
//
// # Promises
//
// An envelope is a DAG-CBOR map whose signature covers all of its keys, those of later protocol versions included.
// DecodeEnvelope and Verify check it in a fixed order and with fixed texts, which the reference clients and its tests
// know; an envelope that verifies has one canonical form, whatever its bytes looked like.
//
// # Limits
//
// The package checks that a signer signed, and when. Whether the signer may act for the account, whether the same
// envelope came before, and what an action may do is the server's business; the texts for its refusals stand here. Sizes of
// bodies and frames are bounded by the transport.
//
// The package is tier 0 and public. It imports dagcbor and principal.
package wire
