package web_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/loam-agents/loam/internal/web"
)

// floor is the F1 that every layout keeps on average over its noise, and meanFloor the mean over all of them. F1 is taken over the words of
// the article and those of the extracted text, as multisets.
const (
	floor     = 0.95
	meanFloor = 0.98
	noises    = 8
)

func TestTheArticleOfTwelveLayoutsIsFoundInGeneratedNoise(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	total := 0.0
	for i, l := range layouts {
		sum := 0.0
		for n := range noises {
			g := &gen{r: rand.New(rand.NewPCG(uint64(i), uint64(n)))}
			story := g.story()
			page := l.page(g, story)
			path := fmt.Sprintf("/%s/%d", l.name, n)
			site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = fmt.Fprint(w, page)
			})
			got, err := reader.Read(t.Context(), web.Request{URL: site.URL + path})
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			f := f1(strings.Join(story.paragraphs, " "), got.Markdown)
			if testing.Verbose() {
				t.Logf("%-12s noise %d: F1 %.3f", l.name, n, f)
			}
			sum += f
		}
		mean := sum / noises
		t.Logf("%-12s F1 %.3f", l.name, mean)
		if mean < floor {
			t.Errorf("%s: F1 %.3f is below %.2f", l.name, mean, floor)
		}
		total += mean
	}
	if mean := total / float64(len(layouts)); mean < meanFloor || len(layouts) != 12 {
		t.Errorf("F1 over %d layouts is %.3f, below %.2f", len(layouts), mean, meanFloor)
	} else {
		t.Logf("all          F1 %.3f", mean)
	}
}

// f1 is the harmonic mean of precision and recall over words.
func f1(want, got string) float64 {
	w, g := bag(want), bag(got)
	same, nw, ng := 0, 0, 0
	for word, n := range w {
		same += min(n, g[word])
		nw += n
	}
	for _, n := range g {
		ng += n
	}
	if same == 0 {
		return 0
	}
	precision, recall := float64(same)/float64(ng), float64(same)/float64(nw)
	return 2 * precision * recall / (precision + recall)
}

func bag(s string) map[string]int {
	out := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out[w]++
	}
	return out
}

// gen draws text: an article, and what pages put around it.
type gen struct{ r *rand.Rand }

type story struct {
	title      string
	paragraphs []string
}

var (
	subjects = strings.Fields("river harbour engine council orchard telescope ledger glacier violin market bridge theorem archive lantern reactor")
	verbs    = strings.Fields("carried changed measured opened followed answered rebuilt described questioned crossed collected protected moved outlived revealed")
	objects  = strings.Fields("valley method signal season record border network garden current promise pattern cargo border weather silence distance")
	links    = strings.Fields("Home About Contact Login Subscribe Newsletter Careers Sports Weather Shop Videos Podcasts Privacy Terms Help Sitemap Archive Events Jobs Press")
)

func (g *gen) pick(list []string) string { return list[g.r.IntN(len(list))] }

func (g *gen) sentence() string {
	return fmt.Sprintf("The %s of the %s %s a %s that nobody near the %s had %s before, and the %s %s it again in year %d.",
		g.pick(objects), g.pick(subjects), g.pick(verbs), g.pick(objects), g.pick(subjects), g.pick(verbs), g.pick(subjects), g.pick(verbs), 1800+g.r.IntN(220))
}

func (g *gen) paragraph() string {
	var s []string
	for range 3 + g.r.IntN(4) {
		s = append(s, g.sentence())
	}
	return strings.Join(s, " ")
}

func (g *gen) story() story {
	s := story{title: "How the " + g.pick(subjects) + " " + g.pick(verbs) + " the " + g.pick(objects)}
	for range 6 + g.r.IntN(8) {
		s.paragraphs = append(s.paragraphs, g.paragraph())
	}
	return s
}

// menu is a list of links; teasers are headlines with a line each; banner asks for consent; comments are what readers say.
func (g *gen) menu(class string, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, `<li><a href="/%d">%s</a></li>`, g.r.IntN(1e6), g.pick(links))
	}
	return fmt.Sprintf(`<ul class="%s">%s</ul>`, class, b.String())
}

func (g *gen) teasers(class string, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, `<div class="card"><a href="/%d"><img src="/t.jpg"><h4>%s %s</h4></a><span>%d min read</span></div>`, g.r.IntN(1e6), g.pick(subjects), g.pick(objects), g.r.IntN(20))
	}
	return fmt.Sprintf(`<div class="%s"><h3>You may also like</h3>%s</div>`, class, b.String())
}

func (g *gen) banner() string {
	return `<div id="cookie-consent" class="modal banner" role="dialog"><p>We value your privacy. We and our partners use cookies.</p><button>Accept all</button><button>Reject</button></div>`
}

func (g *gen) comments(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, `<div class="comment"><b>user%d</b><p>Nice one, thanks!</p><a href="#">Reply</a></div>`, g.r.IntN(999))
	}
	return `<section id="comments" class="comments"><h3>Comments</h3>` + b.String() + `</section>`
}

func (g *gen) script() string {
	return fmt.Sprintf(`<script>window.dataLayer=window.dataLayer||[];var x%d="<p>not text</p>";</script><style>.a{color:red}</style>`, g.r.IntN(1e6))
}

func (g *gen) ad() string {
	return `<div class="ad-slot sponsored" data-ad="1"><a href="https://ads.example/x">Buy now and save</a></div>`
}

func paragraphs(s story, form string) string {
	var b strings.Builder
	for _, p := range s.paragraphs {
		fmt.Fprintf(&b, form, p)
	}
	return b.String()
}

// between puts noise after every third paragraph.
func (g *gen) between(s story, form string) string {
	var b strings.Builder
	for i, p := range s.paragraphs {
		fmt.Fprintf(&b, form, p)
		if i%3 == 2 {
			b.WriteString(g.ad())
		}
	}
	return b.String()
}

type layout struct {
	name string
	page func(g *gen, s story) string
}

func (g *gen) frame(s story, body string) string {
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>` + s.title + ` | Example</title>` + g.script() + `</head><body>` + body + g.script() + `</body></html>`
}

var layouts = []layout{
	{"news", func(g *gen, s story) string {
		return g.frame(s, g.banner()+`<header><nav>`+g.menu("menu", 12)+`</nav></header><main><article><h1>`+s.title+`</h1>`+g.between(s, `<p>%s</p>`)+
			`</article><aside class="sidebar">`+g.teasers("related", 6)+`</aside></main>`+g.comments(8)+`<footer>`+g.menu("footer-links", 20)+`</footer>`)
	}},
	{"blog", func(g *gen, s story) string {
		return g.frame(s, `<div id="header">`+g.menu("nav", 6)+`</div><div id="wrapper"><div class="post hentry"><h2 class="entry-title">`+s.title+`</h2><div class="entry-content">`+paragraphs(s, `<p>%s</p>`)+
			`</div><div class="sharedaddy"><a href="#">Tweet</a><a href="#">Share</a></div></div>`+g.comments(12)+`</div><div id="sidebar">`+g.menu("widget", 15)+`</div>`)
	}},
	{"docs", func(g *gen, s story) string {
		return g.frame(s, `<div class="navbar">`+g.menu("top", 8)+`</div><div class="container"><div class="sidebar-nav">`+g.menu("toc", 40)+`</div><main role="main"><div class="content"><h1>`+s.title+`</h1>`+
			paragraphs(s, `<h2>Section</h2><p>%s</p>`)+`</div></main></div><div class="pagination"><a href="/p">Previous</a><a href="/n">Next</a></div>`)
	}},
	{"tables", func(g *gen, s story) string {
		return g.frame(s, `<table width="100%"><tr><td colspan="2">`+g.menu("m", 7)+`</td></tr><tr><td width="20%">`+g.menu("l", 14)+`</td><td><h1>`+s.title+`</h1>`+paragraphs(s, `<p>%s</p>`)+`</td></tr><tr><td colspan="2">Copyright</td></tr></table>`)
	}},
	{"breaks", func(g *gen, s story) string {
		return g.frame(s, `<center>`+g.menu("m", 5)+`</center><div><font size="3">`+strings.Join(s.paragraphs, "<br><br>")+`</font></div><hr>`+g.menu("f", 5))
	}},
	{"divsoup", func(g *gen, s story) string {
		return g.frame(s, `<div class="a1"><div class="b2">`+g.menu("c3", 9)+`</div><div class="d4"><div class="e5"><div class="f6">`+paragraphs(s, `<div class="g7"><div>%s</div></div>`)+`</div></div></div><div class="h8">`+g.teasers("i9", 5)+`</div></div>`)
	}},
	{"magazine", func(g *gen, s story) string {
		return g.frame(s, g.banner()+`<nav>`+g.menu("mega-menu", 30)+`</nav><section class="hero"><h1>`+s.title+`</h1><div class="byline">By A. Writer</div></section><section class="article-body">`+g.between(s, `<p class="dropcap">%s</p>`)+
			`</section><section class="newsletter-signup"><form><input><button>Sign up</button></form></section>`+g.teasers("recirculation", 9))
	}},
	{"forum", func(g *gen, s story) string {
		return g.frame(s, `<div class="breadcrumbs"><a href="/">Forum</a></div><div class="thread">`+`<div class="post-body">`+paragraphs(s, `<p>%s</p>`)+`</div></div><div class="who-is-online">`+g.menu("online", 18)+`</div>`)
	}},
	{"listicle", func(g *gen, s story) string {
		return g.frame(s, `<header>`+g.menu("menu", 10)+`</header><article><h1>`+s.title+`</h1><ol>`+paragraphs(s, `<li><h3>Reason</h3><p>%s</p></li>`)+`</ol></article>`+g.teasers("more-stories", 8)+`<footer>`+g.menu("foot", 10)+`</footer>`)
	}},
	{"semantic", func(g *gen, s story) string {
		return g.frame(s, `<script type="application/ld+json">{"@context":"https://schema.org","@type":"Article","headline":"`+s.title+`"}</script><main itemscope itemtype="https://schema.org/Article"><h1 itemprop="headline">`+s.title+`</h1><div itemprop="articleBody">`+
			paragraphs(s, `<p>%s</p>`)+`</div></main><aside>`+g.menu("trending", 10)+`</aside>`+g.comments(5))
	}},
	{"mobile", func(g *gen, s story) string {
		return g.frame(s, `<div class="app-bar"><button>Menu</button></div><div class="drawer" aria-hidden="true">`+g.menu("drawer-list", 25)+`</div><div class="page-content"><section>`+paragraphs(s, `<section><p>%s</p></section>`)+`</section></div><div class="bottom-nav">`+g.menu("tabs", 4)+`</div>`)
	}},
	{"unclosed", func(g *gen, s story) string {
		return `<title>` + s.title + `</title><body><ul><li><a href=/>Home<li><a href=/a>About</ul><h1>` + s.title + `</h1><div class=text>` + paragraphs(s, `<p>%s`) + `</div><p class=footer>Copyright <a href=/x>Example` + g.script()
	}},
}
