// Package repocheck holds the invariants of this repository as tests, so that
// nobody has to look for them in a review: who may import whom, what has to be
// documented, how long a file or a function may be, what may not appear in the
// tree, what go.mod has to say.
//
// A rule is a plain function from a [Tree] (the files of the repository, parsed
// once) to findings. A finding says where, what is wrong and what to do about
// it. Every rule has a test of its own that shows it firing on a bad sample;
// TestTheRepositoryKeepsItsRules applies all of them to the real tree.
//
// The package is development tooling: it stands outside the tiers, nothing of
// the product may import it, and it imports nothing of the product. It reads
// files only, so the go command can cache its result until a file changes.
package repocheck
