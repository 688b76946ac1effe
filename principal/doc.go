// Package principal holds who acts in Loam: Ed25519 public keys as principals, private keys that sign, the signature
// that every signed blob carries, and the capability by which one principal lets another act for it.
//
// # Promises
//
// A principal has one binary form, 0xED 0x01 and the 32-byte public key, and one text form, "z" and the base58btc of
// the binary form, which begins with z6Mk. Both parsers refuse everything else.
//
// A blob is signed with its `sig` key present and filled with 64 zero bytes: the signature covers every other key,
// known or not, in canonical DAG-CBOR. Verification encodes the decoded blob again and never trusts the received bytes,
// so a blob has one meaning whatever its bytes looked like.
//
// A Key prints as its principal and never as its seed.
//
// # Limits
//
// The package verifies signatures and the texts of capabilities; it keeps no list of who may do what, knows no
// revocation and reads no clock. A capability's path and audience are carried and not evaluated.
//
// The package is tier 0 and public. It imports dagcbor.
package principal
