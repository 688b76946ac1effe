package repocheck

import "strings"

// A room is a package together with the packages below it in the tree. Rooms
// stand in tiers: code imports rooms of lower tiers and its own room, never a
// room beside it. Two rooms of one tier meet through an interface that the
// consumer declares and the composition root (internal/server) fills. Tier 0 is
// the exception: its rooms hold plain values and may build on one another.
//
// The tens are the tiers of docs/architecture.md. A room with a unit behind its
// ten stands on its neighbours of that tier: the engine on the verbs, blobs on
// the errors of the store.
type room struct {
	path string
	tier int
	kind roomKind
}

type roomKind int

const (
	// product rooms are linked into the server or meant for importers.
	product roomKind = iota
	// public rooms are the product's API for other modules: they import other
	// public rooms only, so that nothing internal shows in their signatures.
	public
	// support rooms exist for tests: they import anything, and only tests and
	// other support rooms import them.
	support
	// tooling rooms are programs and checks for developers, outside the product.
	tooling
)

// rooms is the whole map. A nested entry (a longer path) wins over the room
// around it.
var rooms = []room{
	{"wire", 0, public},
	{"dagcbor", 0, public},
	{"principal", 0, public},
	{"console", 0, product},
	{"internal/bounded", 0, product},
	{"internal/buildinfo", 0, product},
	{"internal/clock", 0, product},
	{"internal/collector", 0, product},
	{"internal/fault", 0, product},
	{"internal/fence", 0, product},
	{"internal/id", 0, product},
	{"internal/logctx", 0, product},

	{"client", 10, public},
	{"internal/apart", 10, product},
	{"internal/blobstore", 15, product},
	{"internal/bus", 10, product},
	{"internal/egress", 10, product},
	{"internal/store", 10, product},

	{"internal/account", 20, product},
	{"internal/agent", 20, product},
	{"internal/backup", 20, product},
	{"internal/memory", 20, product},
	{"internal/provider", 20, product},
	{"internal/runs", 20, product},
	{"internal/sessionlog", 20, product},
	{"internal/upload", 20, product},
	{"internal/vault", 20, product},

	{"internal/hypermedia", 30, product},
	{"internal/mcp", 30, product},
	{"internal/model", 30, product},
	{"internal/notify", 30, product},
	{"internal/sandbox", 30, product},
	{"internal/script", 30, product},
	{"internal/tooldoc", 35, product},
	{"internal/web", 30, product},

	{"internal/callable", 45, product},
	{"internal/capability", 40, product},
	{"internal/channel", 40, product},
	{"internal/govern", 40, product},
	{"internal/project", 40, product},
	{"internal/space", 40, product},
	// The addresses of triggers stand on triggers.
	{"internal/space/triggers", 45, product},
	{"internal/spawn", 46, product},
	{"internal/trigger", 40, product},

	{"internal/engine", 55, product},
	{"internal/workflow", 55, product},
	{"internal/verbs", 50, product},

	{"internal/operation", 60, product},

	{"internal/transport", 70, product},

	{"internal/server", 80, product},
	// Commands stand on the composition root, which docs count as one tier.
	{"internal/command", 85, product},
	{"cmd", 90, product},

	{"internal/crashtest", 0, support},
	{"internal/benchmark", 0, support},
	{"internal/hypermedia/hypermediatest", 0, support},
	{"internal/model/adaptertest", 0, support},
	{"internal/model/scripted", 0, support},
	{"internal/server/servertest", 0, support},
	{"internal/pgtest", 0, support},
	{"internal/store/storetest", 0, support},

	{"internal/devtool", 0, tooling},
	{"internal/repocheck", 0, tooling},
}

// roomOf finds the room of a folder: the entry with the longest matching path.
func roomOf(dir string) (room, bool) {
	var best room
	for _, r := range rooms {
		if within(dir, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

const unknownRoom = "the package stands in no tier: add its folder to rooms in internal/repocheck/tiers.go, " +
	"in the lowest tier above everything it imports"

// checkTiers applies the table to every import of the module's own packages.
// Test files may import any product or support package: the compiler already
// refuses cycles, and a test may drive its package with the real parts above it.
func checkTiers(tree *Tree) []Finding {
	var findings []Finding
	for dir := range tree.packages(func(*GoFile) bool { return true }) {
		if _, known := roomOf(dir); !known {
			findings = append(findings, Finding{dir, unknownRoom})
		}
	}
	for _, file := range tree.GoFiles {
		from, known := roomOf(file.Dir)
		if !known || file.Test {
			continue
		}
		for _, spec := range file.imports() {
			target, ours := strings.CutPrefix(spec.path, Module+"/")
			if !ours {
				continue
			}
			if reason := refuseImport(from, target); reason != "" {
				findings = append(findings, findingf(tree.at(spec.pos), "%s imports %s: %s", file.Dir, target, reason))
			}
		}
	}
	return sorted(findings)
}

// refuseImport says why a room may not import a package, or "".
func refuseImport(from room, target string) string {
	to, known := roomOf(target)
	switch {
	case !known:
		return unknownRoom
	case from.path == to.path || from.kind == support:
		return ""
	case to.kind == support || to.kind == tooling:
		if from.kind == tooling {
			return ""
		}
		return "that is for tests and development only; move what the product needs into a product package"
	case from.kind == public && to.kind != public:
		return "a public package imports public packages only, so that its API can be used by other modules"
	case from.kind == tooling, to.tier < from.tier, to.tier == 0:
		return ""
	case to.tier == from.tier:
		return "both stand in the same tier; declare the interface you need where you use it and let internal/server pass the value"
	default:
		return "a lower tier may not know a higher one; turn the dependency around with an interface in the lower one"
	}
}
