// Package hypermedia makes signed blobs of the hypermedia network, publishes them to a server of it, and reads what is there.
//
// Blobs are made byte for byte as the network's other programs make them (spec/hypermedia.md §1): canonical DAG-CBOR, signed over a
// zero-filled signature, and named by a CID that is sent along with every blob, so that the server's names are ours. The package
// knows what an account needs to be seen: its profile, its home document, and files such as an icon. It asks the server's typed API, reads
// addresses, and turns questions in the Explore grammar into filters.
//
// hypermedia is tier 3: it imports dagcbor, principal and fault, and is handed an HTTP client by the composition root. Operations call it;
// keys come from their callers and are kept by none of its types.
package hypermedia
