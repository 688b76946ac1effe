// Package hypermedia makes signed blobs of the hypermedia network and publishes them to a server of it.
//
// Blobs are made byte for byte as the network's other programs make them (spec/hypermedia.md §1): canonical DAG-CBOR, signed over a
// zero-filled signature, and named by a CID that is sent along with every blob, so that the server's names are ours. The package
// knows what an account needs to be seen: its profile, its home document, and files such as an icon.
//
// hypermedia is tier 3: it imports dagcbor and principal, and is handed an HTTP client by the composition root. Operations call it;
// keys come from their callers and are kept by none of its types.
package hypermedia
